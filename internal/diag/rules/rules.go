// Package rules declares every rule of every tool: its id, its severity, and what it is for.
//
// The variables are grouped by tool: reader.go, lint.go, breaking.go, importing.go, generate.go. The
// table of rules of importing in docs/tools.md has the same content; a test compares them.
// Examples of what a rule reports are in the packages that report it, lint and breaking.
package rules

import "github.com/busgen/busgen/internal/diag"

var all []*diag.Rule

func add(tool diag.Tool, severity diag.Severity, id, doc string) *diag.Rule {
	r := &diag.Rule{ID: id, Tool: tool, Severity: severity, Doc: doc}
	all = append(all, r)
	return r
}

// Of lists the rules of a tool, in the order in which they are declared.
func Of(tool diag.Tool) []*diag.Rule {
	var some []*diag.Rule
	for _, r := range all {
		if r.Tool == tool {
			some = append(some, r)
		}
	}
	return some
}

// IDs lists the ids of some rules.
func IDs(some []*diag.Rule) []string {
	ids := make([]string, len(some))
	for i, r := range some {
		ids[i] = r.ID
	}
	return ids
}
