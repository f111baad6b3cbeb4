// Package conformance holds the tests that state what a bus does, as calls of its
// public API. Every engine has to pass them.
//
// A test is a method of [Env] whose name begins with Test and says in a sentence what
// holds. The Env is the engine under test: it makes logs, and opens buses on them.
//
//	func (env *Env) TestAKnownSubscriptionGetsTheEventsItMissedOnce(t *testing.T) {
//		f := env.Open(t) // a bus on a new log, shut down at the end of the test
//		f.Handle("reader", …)
//		f.MustStart()
//		f.Publish(1, 2)
//		f.Idle()
//		f.Stop()
//		again := env.Reopen(t, f.Path)
//
// [Run] runs all of them; an engine names those that do not hold for it, each with a
// reason. On SQLite they are part of the tests of package runtime:
//
//	go test ./runtime -run Conformance
//	go test ./runtime -run Conformance/TestAKnownSubscriptionGetsTheEventsItMissedOnce
//
// Most tests run in virtual time (testing/synctest) and wait for nothing. What needs
// the files of SQLite, its SQL, or other processes is in runtime/internal/systest, which
// uses the same [Fixture].
package conformance
