package catalogue

import (
	"fmt"
	"slices"
	"strings"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/record"
)

// refusedError stops a verb because stored events would be lost or changed.
type refusedError struct {
	*cli.FindingsError
	noted diag.Findings // the findings that are not refused
}

func (e *refusedError) Unwrap() error { return e.FindingsError }

func refusalOf(file string, all diag.Findings) *refusedError {
	refused := slices.DeleteFunc(slices.Clone(all), func(f *diag.Finding) bool { return !record.Refused(f) })
	return &refusedError{&cli.FindingsError{File: file, Findings: refused}, notedOf(all)}
}

// notedOf returns the findings that do not stop generate, as notes. Some of them
// are errors to programs that are rolled back.
func notedOf(all diag.Findings) diag.Findings {
	noted := slices.DeleteFunc(slices.Clone(all), record.Refused)
	for i, f := range noted {
		noted[i] = f.With(diag.Note)
	}
	return noted
}

// advice says how to accept the findings. Findings about the record itself cannot
// be accepted.
func (e *refusedError) advice() string {
	if !slices.ContainsFunc(e.Findings, func(f *diag.Finding) bool { return f.Key != "" && f.Rule != rules.WireRecord }) {
		return ""
	}
	return "; to accept one, add its key to accepted in the catalogue, with the reason"
}

// mostOfARule is the number of findings of one rule that get a line each.
const mostOfARule = 5

// inLines returns a line for each finding. From the sixth finding of a rule on they
// share one line.
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
