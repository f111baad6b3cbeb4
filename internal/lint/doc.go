// Package lint finds what is allowed in a catalogue and still a bad idea: events
// that nobody described, attempts that never come, secrets in payloads.
//
// [Run] applies [Rules] to a catalogue. What each of them reports has a severity,
// which the catalogue can change under its key lint; there it can also except
// events, types and policies by name.
//
// A rule is a value: its id, its purpose, an example of what it reports and of
// what it is content with (both are run by a test), and a function. The rules are
// in files by what they look at; to add one, write it and list it in rules.go, and
// name it in catalog.LintRules, so that the reader of catalogues knows the word.
package lint
