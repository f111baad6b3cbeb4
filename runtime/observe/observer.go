package observe

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/event"
)

// Observer has functions that a bus calls when something happens; see runtime.WithObserver.
// Functions that are nil are not called.
//
// Published runs on the goroutine that publishes, before its call returns. The
// functions from Started to SlowEvent run on the goroutines that deliver, at the same time for
// different deliveries. A delivery goes on when they return, so they must be quick: one that blocks is left behind as a
// handler is, and what the handler has done is stored. The others run on one separate goroutine, one after the other, and may take their time: up
// to 256 calls wait, and further changes are dropped with a warning in the log. A
// shutdown waits for them until its deadline.
//
// An observer cannot fail an event: a panic is logged, once for each function,
// and changes nothing. It must not end its goroutine (runtime.Goexit), nor wait
// for the bus: it may call Stats, but not Shutdown, Unsubscribe, WaitIdle or
// runtime.Receipt.Wait.
type Observer struct {
	// Published is called for every event that this bus has stored. For one that
	// a handler publishes with its context that is when the handler succeeds. If that one
	// has a dedupe key, another event may still take its place; see runtime.WithDedupeKey.
	Published func(PublishedInfo)

	// Publishing is called when a call of Publish, PublishBatch, Request or Collect begins, and
	// leaves something with it. It runs on the goroutine that publishes.
	Publishing func(context.Context, PublishingInfo) Publishing
	// Handling is called before a handler is, with its context, and leaves something with
	// the attempt: once for a batch, and also for a delivery that becomes a dead letter
	// without a call of its handler (then with another context). It runs on the goroutine
	// that handles, before payloads are decoded and middleware is called.
	Handling func(context.Context, HandlingInfo) Handling

	Started   func(AttemptInfo)   // a handler is about to be called; Took is 0
	Handled   func(HandledInfo)   // a handler has succeeded
	Failed    func(FailedInfo)    // an attempt has failed
	Retrying  func(RetryingInfo)  // after Failed: there will be another attempt
	Dead      func(DeadInfo)      // after Failed, if anything was tried: a delivery becomes a dead letter, or an ephemeral one is dropped
	Discarded func(DiscardedInfo) // a handler has returned runtime.Discard
	Snoozed   func(SnoozedInfo)   // a handler has returned runtime.Snooze
	Slow      func(SlowInfo)      // an attempt runs for longer than SlowAfter; once per attempt, and once per batch
	SlowEvent func(SlowEventInfo) // an event is not handled after a long time, after Retrying if it has failed; see runtime.WithSlowEventAfter
	// Batch is called when a batch is over (runtime.SubscribeBatch), after the functions above were
	// called for each of its events.
	Batch func(BatchInfo)

	// Alert is called when an event of priority critical (runtime.PriorityCritical, runtime.WithPriority) becomes a dead
	// letter, after Dead. It is also called, with Batch set, when all events of a batch of critical ones
	// have failed: for the first such batch of the subscription, and then not before one has handled
	// something. The bus also logs an error with the attribute alert=critical, which is never dropped.
	Alert func(AlertInfo)

	BreakerChanged func(BreakerInfo)
	// Paused and Resumed say what is no longer delivered and what is again, by
	// whichever process it was asked for. Paused is called for what is paused
	// when the bus starts.
	Paused, Resumed func(event.Pause)
	HealthChanged   func(HealthCheck) // a threshold is exceeded, or no longer
}

// AttemptInfo describes an attempt.
type AttemptInfo struct {
	ID           uuid.UUID // of the event
	Type         string    // of the event
	PublishedAt  time.Time // of the event; UTC
	Subscription string    // whose handler it was; of a group the member
	Group        string    // empty outside of groups
	Ephemeral    bool      // the subscription was made with runtime.Ephemeral
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

// AlertInfo says which critical event has failed for good, or which batch of critical
// events has failed as a whole.
type AlertInfo struct {
	AttemptInfo        // the last one, as in [DeadInfo]; of a batch its Type, Subscription, Started and Took
	Reason      string // as in [DeadInfo]; of a batch "batch"
	LastError   string // of a batch that of one of its events
	// Batch is the batch that has failed: its events are tried again, or are dead letters. It
	// is nil for a dead letter.
	Batch *BatchInfo
}

// DiscardedInfo says why a handler has discarded an event.
type DiscardedInfo struct {
	AttemptInfo
	Reason string // what was given to runtime.Discard
}

// SnoozedInfo says until when a handler has put an event off.
type SnoozedInfo struct {
	AttemptInfo
	Until time.Time
}

// SlowInfo says which attempt is slow. Took is for how long it has been running.
type SlowInfo struct{ AttemptInfo }

// SlowEventInfo says which event is not handled after a long time, for one subscription.
type SlowEventInfo struct {
	AttemptInfo               // the attempt that has failed, is at work, or had to wait
	Age         time.Duration // since the event was published, due, or last retried by hand
	Due         time.Time     // when the next attempt is; zero if none has failed
	Error       string        // of the one that has failed; empty if none has
}

// BatchInfo says what became of a batch. Events that are neither Done nor Failed were
// snoozed, discarded or put back.
type BatchInfo struct {
	Subscription string
	Type         string        // of the events
	Size         int           // how many events the handler was given
	Done         int           // of them, those that are handled
	Failed       int           // of them, those that are tried again or are dead letters
	TimedOut     bool          // the batch has outlived its deadline
	Started      time.Time     // when the handler was called
	Took         time.Duration // from then on until the batch was over
}

// BreakerInfo says how a circuit breaker has changed.
type BreakerInfo struct {
	Subscription string // in a group the member
	Group        string // empty outside of groups
	Key          string // of a subscription with a breaker for each key; empty for others
	Ephemeral    bool   // the subscription was made with runtime.Ephemeral
	Old, New     breaker.Status
}
