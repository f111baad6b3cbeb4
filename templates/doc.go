// Package templates turns a checked catalogue into Go code.
//
// The folder is the table of contents of what comes out. Each of these files
// emits the generated file of the same name:
//
//	payloads.go   payloads.gen.go   a struct per event, the types they share, sealed interfaces; Validate
//	codec.go      codec.gen.go      the JSON of payloads: WriteJSON and ReadJSON; what encoding/json needs for unions,
//	                                custom types and stored events with former names
//	copy.go       copy.gen.go       Clone and Equal
//	publish.go    publish.gen.go    Publish<Event> and Publish<Event>Batch
//	subscribe.go  subscribe.gen.go  On<Event><Subscription>, Subscribe<Event>, Subscribe<Namespace>, SubscribeAll
//	catalogue.go  catalogue.gen.go  <Event>Type descriptors, error classes, the Catalogue, Open
//	samples.go    samples.gen.go    Sample<Event>
//	testkit.go    testkit.gen.go    New, Run and Samples, in a package for tests
//
// [Files] is the way in: a catalogue goes in, the bytes of the files come out,
// and nothing is read or written on the way. The same catalogue always gives
// the same bytes.
//
// Inside, there is one small function per construct. It returns a jennifer
// statement, and above it stands the Go that it emits, with <placeholders>
// where the catalogue comes in; the test beside it shows a real one. What does
// not differ between events is not emitted at all but lives in the runtime
// package, which is why the functions that come out are one line long.
//
// The other files are what these share: source.go makes a Go file of the
// constructs, imports.go names the packages of custom types, comment.go and notes.go make
// safe comments of text that a person wrote in the catalogue, words.go puts settings into
// English, gotype.go names Go types, kinds.go tells how values are treated, and deprecated.go lets
// files use what is deprecated. The folder starter holds what `busgen init` writes ([Starter]).
package templates
