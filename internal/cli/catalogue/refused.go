package catalogue

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/record"
)

// refusedError stops a verb because stored events would be lost or changed.
type refusedError struct {
	file     string
	findings diag.Findings // that are refused
	noted    diag.Findings // that are not
}

func refusalOf(file string, all diag.Findings) *refusedError {
	return &refusedError{
		file:     file,
		findings: slices.DeleteFunc(slices.Clone(all), func(f *diag.Finding) bool { return !record.Refused(f) }),
		noted:    notedOf(all),
	}
}

// notedOf are the findings for which code is generated all the same: notes, also if they are errors
// to programs that are rolled back.
func notedOf(all diag.Findings) diag.Findings {
	noted := slices.DeleteFunc(slices.Clone(all), record.Refused)
	for i, f := range noted {
		noted[i] = f.With(diag.Note)
	}
	return noted
}

// Error counts the findings: 1 error and 2 warnings in events.yaml.
func (e *refusedError) Error() string { return tally(e.findings) + " in " + e.file }

// Render shows the findings to people.
func (e *refusedError) Render(w io.Writer) { io.WriteString(w, rendered(e.findings)) }

func (e *refusedError) list() diag.Findings { return e.findings }

// advice says how findings are accepted that can be. One about the record itself cannot.
func (e *refusedError) advice() string {
	if !slices.ContainsFunc(e.findings, func(f *diag.Finding) bool { return f.Key != "" && f.Rule != rules.WireRecord }) {
		return ""
	}
	return "; to accept one, add its key to accepted in the catalogue, with the reason"
}

// mostOfARule is how many findings of one rule are worth a line each.
const mostOfARule = 5

// inLines has a line for each finding, and one for those of a rule of which there are many.
func inLines(findings diag.Findings) string {
	var text strings.Builder
	count := map[string]int{}
	for _, f := range findings {
		if count[f.Rule.ID]++; count[f.Rule.ID] <= mostOfARule {
			fmt.Fprintln(&text, f)
		}
	}
	for _, f := range findings {
		rule := f.Rule.ID
		if more := count[rule] - mostOfARule; more > 0 {
			fmt.Fprintf(&text, "and %d more of %s\n", more, rule)
			count[rule] = 0
		}
	}
	return text.String()
}
