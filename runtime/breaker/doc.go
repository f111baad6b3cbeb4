// Package breaker decides when something that fails too often is to be left
// alone for a while, and when to try it again.
//
// A [Breaker] is a state machine:
//
//	closed    ── more than Threshold of at least MinSamples samples failed ───▶ open
//	open      ── OpenFor has passed, and someone asks ────────────────────────▶ half-open
//	half-open ── the probe succeeds ──▶ closed, with an empty window
//	half-open ── the probe fails ─────▶ open, for another OpenFor
//	half-open ── the probe is released ▶ half-open, and the next who asks probes
//
// Whoever wants to work asks for a [Permit] first, and ends it exactly once
// when it is known how the work went:
//
//	b := breaker.New(breaker.Default())
//	permit, ok := b.Acquire(time.Now(), order.Number)
//	if !ok {
//		return // open until b.Status(time.Now()).Until, or a probe is under way
//	}
//	if err := work(); err != nil {
//		permit.Failure(time.Now(), err.Error())
//	} else {
//		permit.Success(time.Now())
//	}
//
// A sample is a piece of work, not an attempt at it. Work has a number; within
// the window it counts once, by its latest outcome, whether it is tried once or
// ten times. So it takes MinSamples different pieces of work to open a breaker,
// and none does it by being tried again and again. A breaker remembers of up to
// 10000 pieces of work that their latest outcome is a failure. When even more
// fail within a window, those beyond count each time; nothing depends on it then.
//
// Work that ends without a result about the thing that is guarded (nothing was
// there to do, it was interrupted by a shutdown, it was put off) ends with
// [Permit.Release]. A permit that is never ended is a leak, and the one of a
// probe keeps the breaker half-open for ever: release it on every path.
//
// A breaker has no goroutines, no timers and no clock of its own, and nothing
// to close. Every method that depends on the time is given it. Pass what
// [time.Now] returns: its monotonic reading does not move when the wall clock
// is set. Readings of several goroutines may arrive out of order, and a clock
// that is set back makes no time pass; it does not keep a breaker open.
//
// Read policy.go for the thresholds, options.go for changing single ones,
// breaker.go for the transitions, permit.go for how they are told apart that
// end late or twice, failures.go for how work is recognized that failed before,
// and window.go for how outcomes are forgotten.
package breaker
