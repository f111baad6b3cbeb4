package record

import (
	"bytes"
	"io/fs"
	"slices"
	"strings"

	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/output"
	"github.com/busgen/busgen/internal/plainjson"
)

// FileName is the name of the record in the folder of the generated code.
const FileName = "wire.golden"

// A Record has the facts of a catalogue, accepted findings, and the path of the catalogue.
type Record struct {
	facts     []Fact
	accepted  []string  // keys of accepted findings
	merged    []string  // those among them that a merge of branches accepted; see Resolved
	forks     []fork    // what two merged branches brought differently
	samples   []sample  // lines of an older form
	catalogue string    // the path of the catalogue, from the folder of the file; empty in an older form
	earlier   []*Record // records to compare with as well; see AlsoSince
	findings  diag.Findings
	texts     map[string][]byte // the content of the files, by name
}

// The words of lines that are not facts.
const (
	wordCatalogue = "catalogue"
	wordAccepted  = "accepted"
)

// Read reads a record. Findings call it name. [Compare] reports lines that Read cannot read. Read ignores the
// markers of a merge conflict, and takes the lines of both sides.
func Read(name string, text []byte) *Record {
	r := &Record{texts: map[string][]byte{name: text}}
	n, seen := 0, map[string]bool{}
	for line := range strings.Lines(string(text)) {
		n++
		line = strings.TrimRight(line, "\r\n")
		if line == "" || strings.HasPrefix(line, "//") || isConflictMarker(line) || seen[line] {
			continue
		}
		seen[line] = true
		at := diag.Position{File: name, Line: n, Column: 1}
		if s, ok := parseSample(line, at); ok {
			r.samples = append(r.samples, s)
			continue
		}
		f, err := ParseFact(line, at)
		switch {
		case err != nil:
			r.refuse(line, at, err.Error())
		case len(f.Words) == 1 && f.Words[0] == wordCatalogue:
			r.catalogue = plainjson.Unquote([]byte(f.Value))
		case len(f.Words) == 1 && f.Words[0] == wordAccepted:
			r.accepted = append(r.accepted, plainjson.Unquote([]byte(f.Value)))
		default:
			r.facts = append(r.facts, f)
		}
	}
	return r
}

func isConflictMarker(line string) bool {
	return slices.ContainsFunc([]string{"<<<<<<<", "|||||||", "=======", ">>>>>>>"}, func(marker string) bool {
		return line == marker || strings.HasPrefix(line, marker+" ")
	})
}

// IsRecord reports whether a file is a record that busgen has written.
func IsRecord(text []byte) bool { return output.Generated(text) }

// Catalogue returns the path of the record's catalogue, from the folder of the file. It is empty if the
// record does not have it.
func (r *Record) Catalogue() string { return r.catalogue }

// Events lists the names of the events in the record.
func (r *Record) Events() []string {
	seen := map[string]bool{}
	var names []string
	note := func(name string) {
		if !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	for _, f := range r.facts {
		if len(f.Words) > 1 && f.Words[0] == "event" {
			note(f.Words[1])
		}
	}
	for _, s := range r.samples {
		note(s.event)
	}
	return names
}

func (r *Record) refuse(line string, at diag.Position, problem string) {
	f := lineFinding(at, line, "this line cannot be read: "+problem)
	f.Hint = "restore the file from a commit, or generate with --accept-wire to begin a new one"
	r.findings = append(r.findings, f)
}

// lineFinding is a finding about a whole line of a record.
func lineFinding(at diag.Position, line, message string) *diag.Finding {
	f := rules.WireRecord.At(diag.LineOf(at.File, at.Line, line), "%s", message)
	f.Direction, f.Key = diag.Backward, f.Rule.ID+" "+line
	return f
}

// Merge returns the record of two branches with the common ancestor base: the lines that both have, and those that one
// of them added. It keeps a type that one branch no longer uses for the other. Facts that both have added with
// different lines are compared with the catalogue as each of them has it.
func (r *Record) Merge(theirs, base *Record) *Record {
	merged := r.union(theirs, base)
	merged.forks = slices.Concat(r.forks, theirs.forks, forksOf(r, theirs, base))
	return merged
}

func (r *Record) union(theirs, base *Record) *Record {
	merged := &Record{catalogue: r.catalogue, texts: map[string][]byte{}}
	for _, one := range []*Record{theirs, r} {
		for name, text := range one.texts {
			merged.texts[name] = text
		}
		merged.findings = append(merged.findings, one.findings...)
	}
	if merged.catalogue == "" {
		merged.catalogue = theirs.catalogue
	}
	merged.facts = mergeLines(r.facts, theirs.facts, base.facts, Fact.String, typeOf)
	merged.samples = mergeLines(r.samples, theirs.samples, base.samples, sample.String, nil)
	merged.accepted = mergeLines(r.accepted, theirs.accepted, base.accepted, strings.Clone, nil)
	return merged
}

// Resolved returns the record of a committed merge: its own lines, and those of the merged records of its
// parents, because the author of the merge may have committed the file of one side only.
func (r *Record) Resolved(parents *Record) *Record {
	all := r.union(parents, &Record{})
	all.accepted, all.merged, all.forks = parents.accepted, nil, parents.forks
	for _, key := range r.accepted {
		if !slices.Contains(parents.accepted, key) {
			all.merged = append(all.merged, key)
		}
	}
	return all
}

// mergeLines keeps lines that both sides have or one side added. It also keeps lines of a group of which the
// other side has no lines at all. A nil group means that there are no groups.
func mergeLines[T any](ours, theirs, base []T, text func(T) string, group func(T) string) []T {
	if group == nil {
		group = func(T) string { return "" }
	}
	in := func(lines []T) (texts, groups map[string]bool) {
		texts, groups = map[string]bool{}, map[string]bool{"": true}
		for _, line := range lines {
			texts[text(line)], groups[group(line)] = true, true
		}
		return texts, groups
	}
	inBase, _ := in(base)
	var merged []T
	seen := map[string]bool{}
	take := func(from, other []T) {
		inOther, groupsOfOther := in(other)
		for _, line := range from {
			if one := text(line); !seen[one] && (inOther[one] || !inBase[one] || !groupsOfOther[group(line)]) {
				seen[one] = true
				merged = append(merged, line)
			}
		}
	}
	take(ours, theirs)
	take(theirs, ours)
	return merged
}

// typeOf returns the name of the type that a fact is about, or "".
func typeOf(f Fact) string {
	if len(f.Words) > 1 && isSort(f.Words[0]) {
		return f.Words[1]
	}
	return ""
}

func isSort(word string) bool {
	return slices.Contains([]string{"struct", "enum", "union", "custom"}, word)
}

// readText returns the content of a file of the record.
func (r *Record) readText(name string) ([]byte, error) {
	text, ok := r.texts[name]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return bytes.TrimPrefix(text, []byte("\uFEFF")), nil
}
