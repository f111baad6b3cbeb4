// Package parse reads events.yaml, the file that declares a program's events, and makes the model of
// package catalog of it.
//
// [Load] reads a file, [Text] the text of one. Both return a catalogue that is ready to be emitted as Go,
// or findings with everything that is wrong, each at its line and column. They never return both.
//
// Each package below owns one kind of what a catalogue declares, and uses only those above it:
//
//	text      where a node is written, and the values of YAML; what is wrong
//	names     names of Go, on the wire and in JSON, and former ones
//	files     included files and their packages, and imported catalogues
//	types     types, fields and constraints; values of a type
//	settings  settings, limits, headers and policies
//	events    events, subscriptions, groups and schedules
//
// load.go here has the order in which they read: types may refer to one another in any order, and events inherit from
// policies when all events are known. files.go has where files are read from.
//
// To add a setting, start in settings/settings.go and in package catalog. To add a field type, start at Kind in
// package catalog. A new check gets a rule in internal/diag/rules and a catalogue in testdata/cases. The
// language is described in docs/catalogue.md; the tests of this package check its examples and tables.
package parse
