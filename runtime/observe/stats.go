package observe

import (
	"time"
)

// BatchStats counts the batches of a subscription.
type BatchStats struct {
	Batches  uint64 `json:"batches"`   // that are over
	Events   uint64 `json:"events"`    // that they had, each as often as it was tried
	TimedOut uint64 `json:"timed_out"` // batches that outlived their deadline
}

// Recovery says what runtime.Bus.Start found in the file.
type Recovery struct {
	Interrupted int   `json:"interrupted"` // deliveries whose handler ran when the last process died
	Waiting     int   `json:"waiting"`     // deliveries that wait for a retry
	Dead        int   `json:"dead"`        // dead letters, counted up to [MaxBacklog]
	Backlog     int64 `json:"backlog"`     // how many events the slowest subscription is behind, at most
}

// TypeStats counts for one event type, over all subscriptions of this bus.
type TypeStats struct {
	Type          string  `json:"type"`
	Published     uint64  `json:"published"`      // events stored by this bus; those of handlers count when they succeed
	Duplicates    uint64  `json:"duplicates"`     // events published again with the same dedupe key, and not stored
	DuplicateRate float64 `json:"duplicate_rate"` // duplicates, of both
	Counts
	Rates Rates `json:"rates"`
}

// BreakerStatus is the state of a circuit breaker.
type BreakerStatus struct {
	Key      string    `json:"key,omitempty"`  // of a subscription with a breaker for each key: the value
	State    string    `json:"state"`          // closed, open or half-open
	Since    time.Time `json:"since,omitzero"` // when it opened, if it is not closed; UTC
	Until    time.Time `json:"until,omitzero"` // when an open one tries the next event; UTC
	Samples  int       `json:"samples"`        // deliveries with an outcome in its window
	Failures int       `json:"failures"`       // of those, by their latest outcome
	// LastError is that of the last failure since it was closed.
	LastError string `json:"last_error,omitempty"`
}

// MaxBacklog is the largest backlog that is counted: [event.Lag].Backlog is this number for
// every larger one.
const MaxBacklog = 100_000

// Counts holds the outcomes of deliveries. In a group each member has the counts of its
// own handler.
type Counts struct {
	Handled     uint64 `json:"handled"`     // handlers that succeeded
	Recovered   uint64 `json:"recovered"`   // of those, after one failed attempt or more
	Failed      uint64 `json:"failed"`      // failed attempts
	Retried     uint64 `json:"retried"`     // of those, the ones that are tried again
	Timeouts    uint64 `json:"timeouts"`    // of the failed ones, those that outlived their deadline
	Dead        uint64 `json:"dead"`        // deliveries that became dead letters
	Expired     uint64 `json:"expired"`     // of those, because they were not handled in time
	Discarded   uint64 `json:"discarded"`   // settled by runtime.Discard
	Unrecovered uint64 `json:"unrecovered"` // dead or discarded after they had been retried
	Snoozed     uint64 `json:"snoozed"`     // attempts put off by runtime.Snooze
	Slow        uint64 `json:"slow"`        // attempts that were logged as slow
	Abandoned   int64  `json:"abandoned"`   // handlers that ignored their deadline and still run
}

// Rates holds shares from 0 to 1. A share is 0 if there is nothing to share.
type Rates struct {
	Retry             float64 `json:"retry"`               // attempts that are tried again, of all attempts
	Timeout           float64 `json:"timeout"`             // attempts that timed out, of all attempts
	SuccessAfterRetry float64 `json:"success_after_retry"` // deliveries that were handled, of those that were retried and are settled
	Dead              float64 `json:"dead"`                // deliveries that became dead letters, of those that are settled
}

// Attempts returns how many attempts there were: handled, failed
// and discarded ones.
func (c Counts) Attempts() uint64 { return c.Handled + c.Failed + c.Discarded }

// Rates returns the shares that the counts make.
func (c Counts) Rates() Rates {
	return Rates{
		Retry:             shareOf(c.Retried, c.Attempts()),
		Timeout:           shareOf(c.Timeouts, c.Attempts()),
		SuccessAfterRetry: shareOf(c.Recovered, c.Recovered+c.Unrecovered),
		Dead:              shareOf(c.Dead, c.Handled+c.Dead+c.Discarded),
	}
}

// shareOf returns part of whole, or 0 if there is nothing.
func shareOf(part, whole uint64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}
