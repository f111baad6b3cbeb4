package diag

import "fmt"

// Rule is one kind of finding. Each rule is declared once, in package rules.
type Rule struct {
	ID       string   // stable: tools and people rely on it, while messages may change
	Tool     Tool     // reports it
	Severity Severity // of its findings, unless the catalogue or the finding says otherwise
	Doc      string   // one or two sentences: what must hold, or what goes wrong otherwise
}

// Tool is a part of busgen that reports findings.
type Tool int

// The tools.
const (
	Reader   Tool = iota // reads catalogues, for all verbs; its findings are always errors
	Lint                 // busgen lint
	Breaking             // busgen breaking, and generate and check for stored events
	Import               // busgen import
	Generate             // busgen generate and check, about the files that they write
)

// At returns a finding of the rule, with the rule's severity. It escapes characters of the message that
// cannot be printed.
func (r *Rule) At(place Place, format string, args ...any) *Finding {
	return &Finding{Place: place, Rule: r, Severity: r.Severity, Message: Visible(fmt.Sprintf(format, args...))}
}

// String returns the id.
func (r *Rule) String() string { return r.ID }
