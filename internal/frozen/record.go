package frozen

import (
	"bytes"
	"io/fs"
	"slices"
	"strings"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/emit"
)

// FileName is the name of the file, in the folder of the generated code.
const FileName = "wire.golden"

// A Record is what was written down of a catalogue: the facts about it, and lines of other kinds.
type Record struct {
	facts     []catalog.Fact
	accepted  []string  // keys of findings that somebody has accepted
	merged    []string  // those of them that a merge of branches has accepted; see Resolved
	samples   []sample  // lines of an older form
	catalogue string    // the path of the catalogue, from the folder of the file; empty in an older form
	earlier   []*Record // that count as well; see AlsoSince
	findings  diag.Findings
	texts     map[string][]byte // by the name of the file
}

// Words of lines that are not about the types of events.
const (
	wordCatalogue = "catalogue"
	wordAccepted  = "accepted"
)

// Read reads a file; name is what findings call it. Lines that it cannot read are findings of
// [Compare]. Markers of a conflict are passed over: both sides count.
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
		f, err := catalog.ParseFact(line, at)
		switch {
		case err != nil:
			r.refuse(line, at, err.Error())
		case len(f.Words) == 1 && f.Words[0] == wordCatalogue:
			r.catalogue = unquoted(f.Value)
		case len(f.Words) == 1 && f.Words[0] == wordAccepted:
			r.accepted = append(r.accepted, unquoted(f.Value))
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

// IsRecord tells a record from a file that somebody else has written.
func IsRecord(text []byte) bool { return emit.Generated(text) }

// Catalogue is the path of the catalogue of which it is a record, from the folder of the file;
// empty if the record does not say it.
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
	f.Hint = "take the file of a commit that was generated, or generate with --accept-wire to begin a new one"
	r.findings = append(r.findings, f)
}

// lineFinding is a finding about a whole line of a record.
func lineFinding(at diag.Position, line, message string) *diag.Finding {
	f := rules.WireRecord.At(diag.LineOf(at.File, at.Line, line), "%s", message)
	f.Direction, f.Key = diag.Backward, f.Rule.ID+" "+line
	return f
}

// Merge returns the record of two branches, each of which has begun with base: the lines that
// both have, and those that one of them has added. A type that one branch does not use any more is
// kept for the other.
func (r *Record) Merge(theirs, base *Record) *Record {
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
	merged.facts = mergeLines(r.facts, theirs.facts, base.facts, catalog.Fact.String, typeOf)
	merged.samples = mergeLines(r.samples, theirs.samples, base.samples, sample.String, nil)
	merged.accepted = mergeLines(r.accepted, theirs.accepted, base.accepted, strings.Clone, nil)
	return merged
}

// Resolved returns the record of a merge that is checked in: what was written down then, and what
// the merge of its parents should have been. Somebody may have taken the file of one side.
func (r *Record) Resolved(parents *Record) *Record {
	all := r.Merge(parents, &Record{})
	all.accepted, all.merged = parents.accepted, nil
	for _, key := range r.accepted {
		if !slices.Contains(parents.accepted, key) {
			all.merged = append(all.merged, key)
		}
	}
	return all
}

// mergeLines keeps lines that both have or one has added. group names what lines belong to that a
// branch cannot have changed if it has none of them; nil for nothing.
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

// typeOf names the type that a fact is about, if it is about one.
func typeOf(f catalog.Fact) string {
	if len(f.Words) > 1 && isSort(f.Words[0]) {
		return f.Words[1]
	}
	return ""
}

func isSort(word string) bool {
	return slices.Contains([]string{"struct", "enum", "union", "custom"}, word)
}

// readText returns the text of a file of the record.
func (r *Record) readText(name string) ([]byte, error) {
	text, ok := r.texts[name]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return bytes.TrimPrefix(text, []byte("\uFEFF")), nil
}
