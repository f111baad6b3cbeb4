// Package catalog reads events.yaml, the file that declares a program's
// events, and turns it into a checked model.
//
// [Load] reads a file, [Parse] the bytes of one. Both return a [Catalogue] that
// is ready to be emitted as Go, or [diag.Findings] that say everything that is wrong
// with the file, each at its line and column. There is nothing in between: a
// Catalogue never comes with findings.
//
// Reading goes through the file in the order in which its parts need each
// other, and the package's files follow it:
//
//	load.go           the way in, and the order of everything below
//	include.go        the files that a catalogue consists of; files.go: where they are read from
//	packages.go       into which Go package the code of each file goes; view.go: what each sees of the others
//	imports.go        other catalogues whose types can be used
//	source.go         lines and columns: where a node is written
//	document.go       text → YAML nodes; what YAML itself finds wrong
//	decode.go         mappings, lists and scalars; unknown and duplicate keys
//	comments.go       what is said about something, in a doc or in a comment above it
//	types.go          `types:`, and what kind each is; typeref.go: the text of a type
//	structs.go        fields, and structs in place; constraints.go: what narrows down their values
//	fieldnames.go     names that fields had before, and names that are reserved
//	enums.go          values; unions.go: variants; customs.go: types that somebody else has written
//	recursion.go      types that contain themselves, and what else is true of all values of a type
//	events.go         `events:`, payloads and partition keys
//	annotations.go    what is only said about things: deprecated, owner, tags
//	accepted.go       `accepted:`, findings of busgen breaking
//	examples.go       `examples:`, from YAML to JSON
//	subscriptions.go  the names declared under an event
//	settings.go       how events are delivered, as written in one place
//	retries.go        of these `retry`; breaker.go, errorrules.go, redrive.go: those in parts
//	off.go            what can be switched off; durations.go: 1h30m
//	policies.go       `policies:`, and how an event inherits its settings
//	names.go          from catalogue names to Go names
//	collisions.go     Go names that two things would share
//	namespaces.go     the prefixes of event names
//
// payloadcheck.go and payloadconstraints.go hold the JSON of a payload against a catalogue,
// examples among them; payloadschema.go and payloadschema_read.go are how much of a catalogue that needs, in
// one line for the file of a bus. sample.go and samplevalues.go make up a payload for an event without examples.
//
// model.go and model_settings.go are the result. A value in it knows where it was written, so that
// everything built on the model can point at the catalogue too. Findings are the other
// result: package diag has their type, and package rules all kinds of them.
//
// To add a setting, start in model_settings.go and settings.go; to add a field type, in typeref.go and at
// [Kind] in model.go. A new check gets a rule in internal/diag/rules and a catalogue
// in testdata/cases. The language is described in docs/catalogue.md, whose
// examples and tables are checked by this package's tests.
package catalog
