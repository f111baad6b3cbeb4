// Package runtimetest is for tests of programs that publish and handle events. A
// [Kit] is a bus on a disk in memory, with a clock that can be moved, a record of
// what was published, and switches for everything that can go wrong.
//
//	func TestAnOrderIsPaidAndShipped(t *testing.T) {
//		eventstest.Run(t, func(t *testing.T, kit *runtimetest.Kit) {
//			kit.Setup(shop.Subscribe)
//			kit.Publish(eventstest.SampleOrderPlaced())
//			kit.Drain()
//			if shipped := eventstest.Published[events.OrderShipped](kit); len(shipped) != 1 {
//				t.Errorf("shipped: %v", shipped)
//			}
//		})
//	}
//
// Package eventstest is generated for the catalogue of package events if that says
// "test_kit: true"; its functions are those of this package, with types that only
// that catalogue has.
//
// # Time
//
// In [Run] time is virtual: it stands still while anything can be done, and then
// jumps to what comes next (package [testing/synctest]). A retry that is due in an
// hour costs a moment, and times can be compared exactly. Three methods move the
// bus on:
//
//   - [Kit.Deliver] delivers what is due now, and no time passes. What waits for a
//     retry goes on waiting.
//   - [Kit.Advance] lets some time pass, and what is due in it happen.
//   - [Kit.Drain] goes on until everything is handled or a dead letter, through all
//     retries, for a day of virtual time at most. A step that sleeps for longer needs [Kit.Advance].
//
// Hold no mutex while you publish, wait or call these methods. Time moves on only while all goroutines wait for
// what package synctest knows, such as channels. One that waits for a [sync.Mutex] counts as busy: if a handler
// waits for one that the test holds, and the bus has to wait for a moment, the test hangs. Unlock first, or use
// a channel with one place as the lock.
//
// A program that waits for the outside world, such as a real network connection,
// does not fit into a bubble. [New] makes a kit outside of one: then time is real,
// Deliver and Advance end the test, and Drain really waits.
//
// # Schedules
//
// The schedules of the catalogue are off. [Kit.Fire] publishes the event of one, and with
// the option [WithSchedules] they are on: then a test lets their times come with
// [Kit.Advance].
//
// # Limits
//
// The limits of the catalogue hold as in a program. What waits for its turn is left alone by
// [Kit.Deliver] and begins in [Kit.Advance] or [Kit.Drain]; Limited of [runtime.Bus.Stats] counts
// it. A test that is not about a limit replaces it with [runtime.WithLimit] by a wide one.
//
// # What happened
//
// [Published] and [DeadLetters] return what is in the file, typed. What is not
// there has not happened: events of a handler that has failed, for example.
// [Kit.Attempts] says when a handler was called, and what came of it. More can be
// asked of [Kit.Bus], such as its Stats, and of package inspect, which opens the file at
// [Kit.Path].
//
// # Questions
//
// The functions that ask for answers work in a kit as they do in a program: start the
// kit and call them with [Kit.Bus]. Of a handler whose answer is not needed any more,
// because others have answered, [Kit.Attempts] has an attempt with the result discarded.
//
// # What can go wrong
//
// [Kit.Break] puts a [Fault] in front of a handler, for some deliveries: it fails,
// panics, hangs, or fails after all has been done. [Kit.Disk] fills up, becomes slow
// or breaks. [Kit.Crash] is kill -9, [Kit.PowerCut] what the name says, and
// [Kit.Restart] a deploy; each opens another bus on what is left, and makes the
// subscriptions of [Kit.Setup] again.
//
// # What is real
//
// A kit is the bus that programs have, with its SQLite and its recovery; only the
// files below are in memory. Two small ones that hold no events are in the
// temporary folder of the test. Kits share nothing, so tests can run in parallel.
package runtimetest
