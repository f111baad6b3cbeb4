// Package breaker implements a circuit breaker: it stops work that fails too
// often, and later lets one probe find out whether it works again.
//
// A [Breaker] is a state machine:
//
//	closed    ── more than Threshold of at least MinSamples samples failed ───▶ open
//	open      ── OpenFor has passed, and a caller acquires a permit ──────────▶ half-open
//	half-open ── the probe succeeds ──▶ closed, with an empty window
//	half-open ── the probe fails ─────▶ open, for another OpenFor
//	half-open ── the probe is released ▶ half-open, and the next caller probes
//
// A caller acquires a [Permit] before it works, and ends the permit exactly once
// when the outcome is known:
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
// A sample is a piece of work, not an attempt at it. Each piece has a number.
// Within the window it counts once, by its latest outcome, however often it is
// tried. So a breaker opens only after MinSamples different pieces of work; one
// piece that fails again and again does not open it. A breaker remembers up to
// 10000 pieces of work whose latest outcome is a failure. If more fail within a
// window, each failure of the others counts; MinSamples is reached by then.
//
// If the work says nothing about the guarded thing, because there was nothing to
// do, a shutdown interrupted it or it was postponed, end the permit with
// [Permit.Release]. A permit that never ends leaks memory, and the permit of a
// probe that never ends keeps the breaker half-open for ever. So end permits on
// every path.
//
// A breaker has no goroutines, no timers and no clock of its own, and nothing
// to close. Methods that depend on the time take it as an argument. Pass what
// [time.Now] returns: its monotonic reading does not change when the wall clock
// is set. Readings of several goroutines may arrive out of order. When a clock is
// set back, no time passes, but the breaker does not stay open longer for it.
//
// A [Set] is a breaker for each key. Keys that do well cost no memory.
//
// Read policy.go for the thresholds, options.go for changing single ones,
// breaker.go for the transitions, permit.go for permits that end late or twice,
// failures.go for work that has failed before, and window.go for the sliding
// window of outcomes, and set.go for breakers by key.
package breaker
