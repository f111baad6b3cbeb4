package runtime

import (
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/breaker"
)

// Observer is told what happens in a bus; see [WithObserver]. Functions that are
// nil are not called.
//
// Published runs on the goroutine that publishes, before its call returns. The
// functions from Handled to Slow run on goroutines that deliver, which go on when
// they return, so they must be quick; they run at the same time for different
// deliveries. The others run on one goroutine of their own, one after the other,
// and may take their time: if more than 256 changes wait for them, they are not
// told of the next. A shutdown waits for them until its deadline.
//
// An observer cannot fail an event: a panic is logged, once for each function,
// and changes nothing. It must not end its goroutine (runtime.Goexit), nor wait
// for the bus: it may call Stats, but not Shutdown, Unsubscribe, WaitIdle or
// [Receipt.Wait].
type Observer struct {
	// Published is called for every event that this bus has stored. For one that
	// a handler publishes with its context that is when the handler succeeds.
	Published func(PublishedInfo)

	Handled   func(HandledInfo)   // a handler has succeeded
	Failed    func(FailedInfo)    // an attempt has failed
	Retrying  func(RetryingInfo)  // after Failed: there will be another attempt
	Dead      func(DeadInfo)      // after Failed, if anything was tried: a delivery becomes a dead letter
	Discarded func(DiscardedInfo) // a handler has returned [Discard]
	Snoozed   func(SnoozedInfo)   // a handler has returned [Snooze]
	Slow      func(SlowInfo)      // an attempt runs for longer than SlowAfter; once per attempt

	BreakerChanged func(BreakerInfo)
	// Paused and Resumed say what is no longer delivered and what is again, by
	// whichever process it was asked for. Paused is called for what is paused
	// when the bus starts.
	Paused, Resumed func(Pause)
	HealthChanged   func(HealthCheck) // a threshold is exceeded, or no longer
}

// AttemptInfo says which attempt an observer is told of.
type AttemptInfo struct {
	ID           uuid.UUID // of the event
	Type         string    // of the event
	PublishedAt  time.Time // of the event; UTC
	Subscription string    // whose handler it was; of a group the member
	Group        string    // empty outside of groups
	Attempt      int       // 1 for the first
	MaxAttempts  int
	Started      time.Time     // when the handler was called; zero if it was not
	Took         time.Duration // from then on until the attempt was over, or until now
}

// PublishedInfo says what was published.
type PublishedInfo struct {
	ID   uuid.UUID
	Type string
	Due  time.Time // of a delayed event; else zero
	// Duplicate says that nothing was stored: ID is that of an earlier event with
	// the same dedupe key.
	Duplicate bool
}

// HandledInfo says what was handled.
type HandledInfo struct {
	AttemptInfo
	// Latency is the time since the event was published: since it was due, if it
	// was delayed, or since it was last retried by hand, if it was dead.
	Latency time.Duration
}

// FailedInfo says how an attempt has failed.
type FailedInfo struct {
	AttemptInfo
	Kind  string // error, panic, goexit, timeout, decode, crash or interrupted
	Error string
}

// RetryingInfo says when the next attempt will be.
type RetryingInfo struct {
	AttemptInfo // the one that has failed
	Due         time.Time
	Delay       time.Duration // until then
	Error       string        // of the one that has failed
}

// DeadInfo says why there will be no further attempt.
type DeadInfo struct {
	AttemptInfo        // the last one; Started is zero if it ended with its process, or there was none
	Reason      string // max_attempts, permanent, decode, crash, expired or max_snoozes
	LastError   string
}

// DiscardedInfo says why a handler has discarded an event.
type DiscardedInfo struct {
	AttemptInfo
	Reason string // what was given to [Discard]
}

// SnoozedInfo says until when a handler has put an event off.
type SnoozedInfo struct {
	AttemptInfo
	Until time.Time
}

// SlowInfo says which attempt is slow. Took is for how long it has been running.
type SlowInfo struct{ AttemptInfo }

// BreakerInfo says how a circuit breaker has changed.
type BreakerInfo struct {
	Subscription string // in a group the member
	Group        string // empty outside of groups
	Old, New     breaker.Status
}

// WithObserver has an observer told what happens. Given several times, the
// observers are called in this order.
func WithObserver(o Observer) Option {
	return func(c *config) error {
		if o.empty() {
			return errors.New("WithObserver: none of the functions is set")
		}
		c.observers = append(c.observers, o)
		return nil
	}
}

func (o *Observer) empty() bool {
	return o.Published == nil && o.Handled == nil && o.Failed == nil && o.Retrying == nil && o.Dead == nil &&
		o.Discarded == nil && o.Snoozed == nil && o.Slow == nil && o.BreakerChanged == nil &&
		o.Paused == nil && o.Resumed == nil && o.HealthChanged == nil
}
