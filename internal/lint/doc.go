// Package lint finds what is allowed in a catalogue and still a bad idea: events without a description,
// attempts that are never made, secrets in payloads.
//
// [Run] applies [Rules] to a catalogue. Each rule has a severity, which the catalogue can change under its
// key lint. There it can also except events, types and policies by name.
//
// A [Rule] has an example of what it reports and one of what it does not report, both run by a test, and a
// function. The rules are in files by subject. To add one, declare it in internal/diag/rules/lint.go, write
// it here, and list it in rules.go.
package lint
