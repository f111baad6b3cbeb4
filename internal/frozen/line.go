package frozen

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/emit"
)

// FileName is the name of the file, in the folder of the generated code.
const FileName = "wire.golden"

// A Line is a payload of a version of an event, as it is stored.
type Line struct {
	Version
	JSON string
	at   catalog.Place // in the file
}

// A Version is one of an event.
type Version struct {
	Event  string
	Number int
}

// String is how people call it.
func (v Version) String() string { return fmt.Sprintf("%s, version %d", v.Event, v.Number) }

// header explains the file to those who open it.
const header = `
// Payloads as they are stored: name of the event, version, JSON. They show every field, every value
// of an enum and every variant of a union. busgen does not let them change unnoticed: a change
// that stored events do not fit is refused, see "busgen help generate". Check this file in.
`

// Lines returns the lines of a catalogue, in the order of its events.
func Lines(c *catalog.Catalogue) []Line {
	var lines []Line
	for _, e := range c.Events {
		for n := 1; n <= e.Version.V; n++ {
			for _, form := range e.WireForms(n) {
				lines = append(lines, Line{Version: Version{e.Name.V, n}, JSON: string(form)})
			}
		}
	}
	return lines
}

// write makes a file of lines.
func write(catalogue string, lines []Line) []byte {
	var b strings.Builder
	b.WriteString("// " + emit.Header(catalogue) + "\n" + header + "\n")
	for _, l := range lines {
		fmt.Fprintf(&b, "%s %d %s\n", l.Event, l.Number, l.JSON)
	}
	return []byte(b.String())
}

// parse reads a file. What is no line is a finding.
func parse(file string, text []byte) (lines []Line, findings catalog.Findings) {
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		line = strings.TrimRight(line, "\r\n")
		if line == "" || strings.HasPrefix(line, "//") {
			continue
		}
		at := catalog.Place{Pos: catalog.Position{File: file, Line: n, Column: 1}, Length: len([]rune(line)), Line: line}
		words := strings.SplitN(line, " ", 3)
		number, err := 0, error(nil)
		if len(words) == 3 {
			number, err = strconv.Atoi(words[1])
		}
		if len(words) < 3 || err != nil || !json.Valid([]byte(words[2])) {
			findings = append(findings, &catalog.Finding{Place: at, Rule: Rule, Message: "this is no event with its version and its JSON",
				Hint: "take the file of a revision that was generated, or of either side of a merge, and generate again"})
			continue
		}
		lines = append(lines, Line{Version: Version{words[0], number}, JSON: words[2], at: at})
	}
	return lines, findings
}

// versionsOf lists the versions that lines are of, in their order.
func versionsOf(lines []Line) []Version {
	var all []Version
	seen := map[Version]bool{}
	for _, l := range lines {
		if !seen[l.Version] {
			seen[l.Version] = true
			all = append(all, l.Version)
		}
	}
	return slices.Clip(all)
}

// byVersion sorts lines into their versions.
func byVersion(lines []Line) map[Version][]Line {
	all := map[Version][]Line{}
	for _, l := range lines {
		all[l.Version] = append(all[l.Version], l)
	}
	return all
}
