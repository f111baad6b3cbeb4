// Package templates generates Go code from a checked catalogue.
//
// Each of these files emits the generated file of the same name:
//
//	payloads.go   payloads.gen.go   a struct per event, the types they share, sealed interfaces; Validate
//	codec.go      codec.gen.go      the JSON of payloads: WriteJSON and ReadJSON; what encoding/json needs for unions,
//	                                custom types and stored events with former names
//	publish.go    publish.gen.go    Publish<Event>
//	subscribe.go  subscribe.gen.go  On<Event><Subscription>, Subscribe<Event>, Subscribe<Namespace>, SubscribeAll
//	answers.go    answers.gen.go    Answer<Event>, Request<Event> and Collect<Event> of events with a result
//	awaits.go     awaits.gen.go     Await<Event> of events that steps wait for
//	catalogue.go  catalogue.gen.go  <Event>Type descriptors, error classes, limits, the Catalogue, Open
//	schemas.go    schemas.gen.go    what the file of a bus keeps about payloads, each type once
//	testkit.go    testkit.gen.go    New, Run and Samples, in a package for tests
//
// [Files] is the entry point. It takes a catalogue and returns the bytes of the files; it
// reads and writes no files. The same catalogue always gives the same bytes.
//
// There is one small function for each construct. It returns a jennifer statement. Its
// comment shows the Go code that it emits, with <placeholders> for names from the
// catalogue; the test beside it shows an example. Code that is the same for all events is
// not emitted but is in package runtime, so most emitted functions are one line long.
//
// The other files are shared: source.go joins the constructs to a Go file, with the names of imported packages,
// comment.go makes safe comments of text in the catalogue, gotype.go names Go types, kinds.go says how values of a type
// are treated, and starter.go has the files that `busgen init` writes ([Starter]). Read files.go, publish.go and
// source.go first.
package templates
