// Package retry computes when a failed execution of a handler runs again.
//
// A [Policy] has plain numbers: how often a handler may run for one event, how
// the wait between two executions grows, and how far jitter may spread it. The
// package only computes. It needs no clock, no random source and no I/O: the same
// policy, event and execution always give the same wait, on every machine and
// after every restart, so a schedule can be recomputed from stored data.
//
// Executions are counted from 1, and the first is one of them: a policy with
// MaxAttempts 4 runs a handler at once and then retries it up to three times.
//
//	p := retry.Default().With(retry.MaxAttempts(6), retry.BaseDelay(500*time.Millisecond))
//	p.Delay(3)            // 1s: the nominal wait before the third execution
//	p.Window(3)           // 900ms, 1.1s: the jitter may move it this far
//	p.Jittered(3, id, s)  // the wait itself, for one event and subscription
//	p.Exhausted(6)        // true: the sixth failure makes a dead letter
//
// Read policy.go for the formulas, jitter.go for the spread, and options.go for
// changing single fields. Everything here is safe for concurrent use.
package retry
