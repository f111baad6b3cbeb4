package runtime

import (
	"sync/atomic"

	"github.com/busgen/busgen/runtime/internal/dispatch"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// Counts say what became of deliveries. In a group each member counts what its
// own handler did.
type Counts struct {
	Handled     uint64 `json:"handled"`     // handlers that succeeded
	Recovered   uint64 `json:"recovered"`   // of those, after one failed attempt or more
	Failed      uint64 `json:"failed"`      // failed attempts
	Retried     uint64 `json:"retried"`     // of those, the ones that are tried again
	Timeouts    uint64 `json:"timeouts"`    // of the failed ones, those that outlived their deadline
	Dead        uint64 `json:"dead"`        // deliveries that became dead letters
	Expired     uint64 `json:"expired"`     // of those, because they were not handled in time
	Discarded   uint64 `json:"discarded"`   // settled by [Discard]
	Unrecovered uint64 `json:"unrecovered"` // dead or discarded after they had been retried
	Snoozed     uint64 `json:"snoozed"`     // attempts put off by [Snooze]
	Slow        uint64 `json:"slow"`        // attempts that were logged as slow
	Abandoned   int64  `json:"abandoned"`   // handlers that ignored their deadline and still run
}

// Rates are shares from 0 to 1. A share of nothing is 0.
type Rates struct {
	Retry             float64 `json:"retry"`               // attempts that are tried again, of all attempts
	Timeout           float64 `json:"timeout"`             // attempts that timed out, of all attempts
	SuccessAfterRetry float64 `json:"success_after_retry"` // deliveries that were handled, of those that were retried and are settled
	Dead              float64 `json:"dead"`                // deliveries that became dead letters, of those that are settled
}

// Attempts returns how many attempts were charged or successful: handled, failed
// and discarded ones.
func (c Counts) Attempts() uint64 { return c.Handled + c.Failed + c.Discarded }

// plus returns the sums.
func (c Counts) plus(d Counts) Counts {
	return Counts{
		Handled: c.Handled + d.Handled, Recovered: c.Recovered + d.Recovered, Failed: c.Failed + d.Failed,
		Retried: c.Retried + d.Retried, Timeouts: c.Timeouts + d.Timeouts, Dead: c.Dead + d.Dead, Expired: c.Expired + d.Expired,
		Discarded: c.Discarded + d.Discarded, Unrecovered: c.Unrecovered + d.Unrecovered, Snoozed: c.Snoozed + d.Snoozed,
		Slow: c.Slow + d.Slow, Abandoned: c.Abandoned + d.Abandoned,
	}
}

// Rates returns the shares that the counts make.
func (c Counts) Rates() Rates {
	return Rates{
		Retry:             share(c.Retried, c.Attempts()),
		Timeout:           share(c.Timeouts, c.Attempts()),
		SuccessAfterRetry: share(c.Recovered, c.Recovered+c.Unrecovered),
		Dead:              share(c.Dead, c.Handled+c.Dead+c.Discarded),
	}
}

// share returns part of whole, or 0 if there is nothing.
func share(part, whole uint64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// counts are [Counts] that are still counting.
type counts struct {
	handled, recovered, failed, retried, timeouts, dead, expired, discarded, unrecovered, snoozed, slow atomic.Uint64

	abandoned atomic.Int64
}

func (c *counts) snapshot() Counts {
	return Counts{
		Handled: c.handled.Load(), Recovered: c.recovered.Load(), Failed: c.failed.Load(), Retried: c.retried.Load(),
		Timeouts: c.timeouts.Load(), Dead: c.dead.Load(), Expired: c.expired.Load(), Discarded: c.discarded.Load(),
		Unrecovered: c.unrecovered.Load(), Snoozed: c.snoozed.Load(), Slow: c.slow.Load(), Abandoned: c.abandoned.Load(),
	}
}

func (c *counts) succeeded(a *dispatch.Attempt) {
	c.handled.Add(1)
	if a.Retry() {
		c.recovered.Add(1)
	}
}

func (c *counts) attemptFailed(kind string, retried bool) {
	c.failed.Add(1)
	if retried {
		c.retried.Add(1)
	}
	if kind == engine.KindTimeout {
		c.timeouts.Add(1)
	}
}

func (c *counts) died(a *dispatch.Attempt, reason string) {
	c.dead.Add(1)
	retried := a.Retry()
	switch reason {
	case engine.ReasonExpired:
		c.expired.Add(1)
	case engine.ReasonCrash:
		retried = a.Failures > 1 // its last attempt counts among them
	}
	if retried {
		c.unrecovered.Add(1)
	}
}

func (c *counts) wasDiscarded(a *dispatch.Attempt) {
	c.discarded.Add(1)
	if a.Retry() {
		c.unrecovered.Add(1)
	}
}
