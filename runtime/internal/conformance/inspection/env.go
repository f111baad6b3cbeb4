// Package inspection is the part of the conformance suite that is about package inspect:
// what an operator sees in the log of a bus and changes there, on any engine.
//
// Its tests are methods of [Env], as those of package conformance are. On SQLite they are
// part of the tests of runtime/inspect:
//
//	go test ./runtime/inspect -run Conformance
//
// What needs SQL, files or processes stays there, and uses the same fixtures: a [Fixture]
// of orders, and a bus of jobs that fail on demand ([Env.MakeDead]).
package inspection

import "github.com/busgen/busgen/runtime/internal/conformance"

// Env is an engine under test. Its methods are the tests.
type Env struct{ *conformance.Engine }

// SQLite is the engine that buses use by default.
var SQLite = &Env{conformance.SQLite.Engine}
