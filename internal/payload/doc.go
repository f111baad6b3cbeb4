// Package payload checks the JSON of payloads against a catalogue, and makes up samples.
//
// [Check] is strict: it wants what the catalogue says, and is for payloads that a person writes.
// [CheckDecode] is lenient: it wants what generated code decodes, and is for stored events. Both are one
// walk through the JSON.
//
//	check.go        the entry points and their errors
//	checker.go      the walk: structs, lists, maps and unions
//	tokens.go       numbers, strings and enums
//	constraints.go  min, max, pattern and so on
//	custom.go       the custom Go types in a payload, which only generated code can check
//	sample.go       makes up a payload; samplevalues.go: its scalars
//
// Package schema below it stores what a check of one event needs in one line.
package payload
