// Package catalog is the model of a catalogue of events: what a program sees of events.yaml once it has
// been read and checked. Package parse makes a [Catalogue] of YAML; this package reads no files.
//
// Every name is resolved, every event has its inherited settings, and no Catalogue has findings. A [Value]
// knows where it was written, so that whatever is built on the model can point at the catalogue too.
//
//	model.go      Catalogue, Event, Type, Field and what they consist of
//	typeref.go    the types of fields: Kind, and what it means to JSON and to defaults
//	scalar.go     named scalars; gotype.go: other Go types for built-in types
//	settings.go   how events are delivered; listing.go: the same as a list of keys and values
//	limits.go     what handlers share: limits, and their use in settings
//	lookup.go     finds events by name and payloads by version
//	names.go      from names of the catalogue to names of Go
//	recursion.go  types that contain themselves, and what else is true of all values of a type
//	view.go       the catalogue as one of its packages sees it
//	shape.go      a digest of what only a build can change
//	words.go      words of the language, and durations as people write them
package catalog
