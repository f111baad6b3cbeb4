// Package compiletest proves what the compiler does for programs that use
// generated code: a wrong payload, a wrong handler, a misspelt event, an event
// of another namespace and stale generated code are compile errors.
//
// It also compiles, and runs the samples of, every catalogue that the tests and the reference
// of the language have.
//
// And it shows that no text and no name of a catalogue makes code that does not compile, or
// means something else: hostile_test.go.
//
// It holds tests only. testdata/events.yaml is the catalogue, and
// testdata/program.go a program that uses it rightly. The tests generate the
// catalogue's package in a temporary folder, compile it and the program, and
// then compile the program, or the package, with one thing changed: exactly one
// error must come out, on the changed line, and its text must name what is
// wrong. Go's own compiler is called directly, with the compiled runtime package
// from the build cache, so that a program takes a fraction of a second and the
// repository is not written to.
package compiletest
