package record

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/output"
	"github.com/busgen/busgen/internal/plainjson"
)

// header explains the file to its readers.
const header = `
// What stored events rely on: a line for each fact, sorted. What is gone stays reserved.
// busgen compares the catalogue with what git has of this file: "busgen help generate" says how.
// Check it in. Where branches are merged, .gitattributes says: wire.golden merge=union
`

// result compares the new file with the present one.
func result(file output.File, findings diag.Findings, present []byte) Result {
	r := Result{File: file, Findings: findings}
	if present == nil {
		return r
	}
	is, was := factLines(file.Content), factLines(present)
	for line := range was {
		if !is[line] {
			r.Changes = append(r.Changes, "- "+line)
		}
	}
	for line := range is {
		if !was[line] {
			r.Changes = append(r.Changes, "+ "+line)
		}
	}
	slices.SortFunc(r.Changes, func(a, b string) int { return cmp.Or(strings.Compare(a[1:], b[1:]), strings.Compare(b, a)) })
	return r
}

// factLines returns the lines of a file without comments.
func factLines(text []byte) map[string]bool {
	all := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimRight(line, "\r\n"); line != "" && !strings.HasPrefix(line, "//") {
			all[line] = true
		}
	}
	return all
}

func linesOf(facts []Fact) []string {
	lines := make([]string, len(facts))
	for i, f := range facts {
		lines[i] = f.String()
	}
	return lines
}

func acceptedLine(key string) string { return wordAccepted + ": " + string(plainjson.Quote(key)) }

// file returns the record with these lines.
func file(catalogue, name string, lines []string) output.File {
	lines = append(slices.Clone(lines), wordCatalogue+": "+string(plainjson.Quote(catalogue)))
	slices.Sort(lines)
	var b strings.Builder
	b.WriteString("// " + output.Header(filepath.Base(name)) + "\n" + header + "\n")
	for _, line := range slices.Compact(lines) {
		b.WriteString(line + "\n")
	}
	return output.File{Name: FileName, Content: []byte(b.String())}
}
