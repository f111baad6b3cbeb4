// Package parse reads events.yaml, the file that declares a program's events, and makes the model of
// package catalog of it.
//
// [Load] reads a file, [Text] the text of one. Both return a catalogue that is ready to be emitted as Go,
// or findings with everything that is wrong, each at its line and column. They never return both.
//
// The reader goes through the file in the order in which its parts need each other:
//
//	load.go           the entry points, and the order of everything below
//	include.go        the files that a catalogue consists of; files.go: where they are read from
//	packages.go       the Go package of each file
//	imports.go        other catalogues whose types can be used
//	source.go         lines and columns: where a node is written
//	document.go       text → YAML nodes; errors of YAML itself, with hints from syntaxhints.go
//	decode.go         mappings, lists and scalars; unknown and duplicate keys; numbers.go: numbers
//	comments.go       docs: the key doc, or the comment above a key
//	types.go          types, and which kind each is; typeref.go: the text of a type
//	structs.go        fields, and structs in place; constraints.go: their constraints
//	fieldnames.go     former names of fields, and reserved ones
//	enums.go          values; unions.go: variants; customs.go: custom Go types
//	recursion.go      types that no value can have
//	events.go         events, payloads and partition keys; history.go: payloads of old versions
//	aliases.go        former names of events and subscriptions
//	annotations.go    deprecated, owner, tags
//	lint.go           settings of busgen lint; accepted.go: findings of busgen breaking that are accepted
//	examples.go       examples, from YAML to JSON; samples.go: payloads for events without one
//	subscriptions.go  subscriptions that an event declares; patterns.go: those for patterns
//	settings.go       how events are delivered, as written in one place
//	retries.go        the key retry; likewise breaker.go, errorrules.go and redrive.go
//	off.go            settings that can be off; durations.go: 1h30m
//	limits.go         limits, and the settings that name them; limitkeys.go: the fields by which they count
//	policies.go       policies, and how an event inherits its settings; overlays.go: settings of an environment
//	names.go          Go names, package names and import paths
//	collisions.go     Go names that two things would share
//	namespaces.go     the prefixes of event names
//
// To add a setting, start in settings.go here and in package catalog. To add a field type, start at Kind in
// package catalog. A new check gets a rule in internal/diag/rules and a catalogue in testdata/cases. The
// language is described in docs/catalogue.md; the tests of this package check its examples and tables.
package parse
