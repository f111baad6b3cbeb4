// Package short has what tests share that do less with -short. go test -short ./... is for a visitor: it takes a
// minute. With BUSGEN_TESTS=more in the environment it is for each change, as .ci/run has it. .ci/long runs the rest.
package short

import (
	"flag"
	"os"
	"strconv"
	"testing"
)

// Skip skips a test that takes seconds, or real time. Why says what takes them.
func Skip(t testing.TB, why string) {
	t.Helper()
	if testing.Short() {
		t.Skip("without -short this runs: " + why)
	}
}

// Visit skips a test that takes about a second, if a visitor runs it. Why says what takes it.
func Visit(t testing.TB, why string) {
	t.Helper()
	if Visitor() {
		t.Skip("without -short, and with BUSGEN_TESTS=more, this runs: " + why)
	}
}

// Visitor tells whether tests are run with -short, and without BUSGEN_TESTS=more.
func Visitor() bool { return testing.Short() && os.Getenv("BUSGEN_TESTS") != "more" }

// Number is a flag that says how much a test does. It is read after the flags are parsed.
type Number struct {
	full, short, given int
	isGiven            bool
}

// Flag defines a flag of the test program. Without it a test does so much, and less with -short.
func Flag(name string, full, short int, usage string) *Number {
	n := &Number{full: full, short: short}
	flag.Var(n, name, usage+" (default "+strconv.Itoa(full)+", with -short "+strconv.Itoa(short)+")")
	return n
}

// N returns what the flag says.
func (n *Number) N() int {
	switch {
	case n.isGiven:
		return n.given
	case testing.Short():
		return n.short
	default:
		return n.full
	}
}

// String implements [flag.Value].
func (n *Number) String() string { return strconv.Itoa(n.given) }

// Set implements [flag.Value].
func (n *Number) Set(text string) (err error) {
	n.given, err = strconv.Atoi(text)
	n.isGiven = err == nil
	return err
}
