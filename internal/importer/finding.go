package importer

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

// A findingList is what was found in the documents of one import.
type findingList struct {
	all      diag.Findings
	files    []string             // their names, in the order in which they were read
	newNames map[string][]newName // by kind
}

// report adds a finding, and returns it for a hint.
func (fl *findingList) report(at diag.Place, rule *diag.Rule, format string, args ...any) *diag.Finding {
	f := rule.At(at, format, args...)
	fl.all = append(fl.all, f)
	return f
}

// note reports a description that is left out.
func (fl *findingList) note(at diag.Place, format string, args ...any) {
	fl.report(at, rules.ImportDetail, format, args...)
}

// compare orders places: by file, in the order in which the files were read, and then by position.
func (fl *findingList) compare(a, b diag.Place) int {
	files := fl.files
	return cmp.Or(cmp.Compare(slices.Index(files, a.Pos.File), slices.Index(files, b.Pos.File)), a.Pos.Compare(b.Pos))
}

// rewind forgets what was found after the first findings, and all new names.
func (fl *findingList) rewind(first int) { fl.all, fl.newNames = fl.all[:first], nil }

// failed tells whether anything found is an error.
func (fl *findingList) failed() bool {
	return slices.ContainsFunc(fl.all, func(f *diag.Finding) bool { return f.Severity == diag.Error })
}

// tidied returns the findings in the order of the files, those with the same text as one.
func (fl *findingList) tidied() diag.Findings {
	all := fl.all.Tidy(fl.files)
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
