// Package findings has what an import finds: a [List] of findings, and of what has another name in the catalogue.
package findings

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

// A List is what was found in the documents of one import.
type List struct {
	All      diag.Findings
	Files    []string             // their names, in the order in which they were read
	newNames map[string][]newName // by kind
}

// Report adds a finding, and returns it for a hint.
func (fl *List) Report(at diag.Place, rule *diag.Rule, format string, args ...any) *diag.Finding {
	f := rule.At(at, format, args...)
	fl.All = append(fl.All, f)
	return f
}

// Note reports a description that is left out.
func (fl *List) Note(at diag.Place, format string, args ...any) {
	fl.Report(at, rules.ImportDetail, format, args...)
}

// Compare orders places: by file, in the order in which the files were read, and then by position.
func (fl *List) Compare(a, b diag.Place) int {
	files := fl.Files
	return cmp.Or(cmp.Compare(slices.Index(files, a.Pos.File), slices.Index(files, b.Pos.File)), a.Pos.Compare(b.Pos))
}

// Rewind forgets what was found after the first findings, and all new names.
func (fl *List) Rewind(first int) { fl.All, fl.newNames = fl.All[:first], nil }

// Failed tells whether anything found is an error.
func (fl *List) Failed() bool {
	return slices.ContainsFunc(fl.All, func(f *diag.Finding) bool { return f.Severity == diag.Error })
}

// Tidied returns the findings in the order of the files, those with the same text as one.
func (fl *List) Tidied() diag.Findings {
	all := fl.All.Tidy(fl.Files)
	type text struct {
		rule          *diag.Rule
		message, hint string
	}
	places := map[text][]diag.Position{}
	first := map[*diag.Finding]text{}
	all = slices.DeleteFunc(all, func(f *diag.Finding) bool {
		t := text{f.Rule, f.Message, f.Hint}
		places[t] = append(places[t], f.Pos)
		first[f] = t
		return len(places[t]) > 1
	})
	for _, f := range all {
		f.Message += timesAt(places[first[f]])
	}
	return all
}

// firstPlaces is how many places a finding names besides its own.
const firstPlaces = 3

// timesAt says how often, and where first, something was found; nothing for once.
func timesAt(places []diag.Position) string {
	if len(places) == 1 {
		return ""
	}
	text := fmt.Sprintf(" (%d times: here", len(places))
	for i, p := range places[1:min(len(places), 1+firstPlaces)] {
		separator := ", "
		if i+2 == len(places) {
			separator = " and "
		}
		text += separator
		if p.File != places[0].File {
			text += p.File + ":"
		}
		text += fmt.Sprintf("%d:%d", p.Line, p.Column)
	}
	if len(places) > 1+firstPlaces {
		text += " and so on"
	}
	return text + ")"
}

// Quote shows a word of the document in a message.
func Quote(word string) string {
	if len(word) > 100 {
		word = word[:100] + "…"
	}
	return strconv.Quote(word)
}
