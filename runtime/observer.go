package runtime

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/background"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/guard"
)

// Observer has functions that a bus calls when something happens; see [WithObserver].
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
// [Receipt.Wait].
type Observer struct {
	// Published is called for every event that this bus has stored. For one that
	// a handler publishes with its context that is when the handler succeeds. If that one
	// has a dedupe key, another event may still take its place; see [WithDedupeKey].
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
	Discarded func(DiscardedInfo) // a handler has returned [Discard]
	Snoozed   func(SnoozedInfo)   // a handler has returned [Snooze]
	Slow      func(SlowInfo)      // an attempt runs for longer than SlowAfter; once per attempt, and once per batch
	SlowEvent func(SlowEventInfo) // an event is not handled after a long time, after Retrying if it has failed; see [WithSlowEventAfter]
	// Batch is called when a batch is over ([SubscribeBatch]), after the functions above were
	// called for each of its events.
	Batch func(BatchInfo)

	// Alert is called when an event of priority critical ([PriorityCritical], [WithPriority]) becomes a dead
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
	Ephemeral    bool      // the subscription was made with [Ephemeral]
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
	Reason string // what was given to [Discard]
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
	Ephemeral    bool   // the subscription was made with [Ephemeral]
	Old, New     breaker.Status
}

// WithObserver adds an observer. Several observers are called in the order of their
// options.
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
	return o.Published == nil && o.Publishing == nil && o.Handling == nil && o.Started == nil && o.Alert == nil && o.Handled == nil && o.Failed == nil && o.Retrying == nil && o.Dead == nil &&
		o.Discarded == nil && o.Snoozed == nil && o.Slow == nil && o.SlowEvent == nil && o.Batch == nil && o.BreakerChanged == nil &&
		o.Paused == nil && o.Resumed == nil && o.HealthChanged == nil
}

// observers calls the observers of a bus.
type observers struct {
	all     []Observer
	logger  *slog.Logger
	faults  sync.Map         // fault → nothing: panics that were logged
	changes background.Queue // calls that may take their time
	pausing sync.Mutex
	paused  []engine.Pause // as last told; guarded by pausing
}

// changesLimit is how many changes may wait for observers that are slow.
const changesLimit = 256

func newObservers(all []Observer, logger *slog.Logger) observers {
	return observers{all: all, logger: logger, changes: background.NewQueue(changesLimit)}
}

// starts says whether anyone is to be told that attempts start.
func (o *observers) starts() bool {
	return slices.ContainsFunc(o.all, func(one Observer) bool { return one.Started != nil })
}

// any says whether there is anyone to tell.
func (o *observers) any() bool { return len(o.all) > 0 }

// told names a function of an observer, and finds it.
type told[T any] struct {
	name string
	of   func(*Observer) func(T)
}

var (
	toPublished = told[PublishedInfo]{"Published", func(o *Observer) func(PublishedInfo) { return o.Published }}
	toStarted   = told[AttemptInfo]{"Started", func(o *Observer) func(AttemptInfo) { return o.Started }}
	toAlert     = told[AlertInfo]{"Alert", func(o *Observer) func(AlertInfo) { return o.Alert }}
	toHandled   = told[HandledInfo]{"Handled", func(o *Observer) func(HandledInfo) { return o.Handled }}
	toFailed    = told[FailedInfo]{"Failed", func(o *Observer) func(FailedInfo) { return o.Failed }}
	toRetrying  = told[RetryingInfo]{"Retrying", func(o *Observer) func(RetryingInfo) { return o.Retrying }}
	toDead      = told[DeadInfo]{"Dead", func(o *Observer) func(DeadInfo) { return o.Dead }}
	toDiscarded = told[DiscardedInfo]{"Discarded", func(o *Observer) func(DiscardedInfo) { return o.Discarded }}
	toSnoozed   = told[SnoozedInfo]{"Snoozed", func(o *Observer) func(SnoozedInfo) { return o.Snoozed }}
	toSlow      = told[SlowInfo]{"Slow", func(o *Observer) func(SlowInfo) { return o.Slow }}
	toSlowEvent = told[SlowEventInfo]{"SlowEvent", func(o *Observer) func(SlowEventInfo) { return o.SlowEvent }}
	toBatch     = told[BatchInfo]{"Batch", func(o *Observer) func(BatchInfo) { return o.Batch }}
	toBreaker   = told[BreakerInfo]{"BreakerChanged", func(o *Observer) func(BreakerInfo) { return o.BreakerChanged }}
	toPaused    = told[event.Pause]{"Paused", func(o *Observer) func(event.Pause) { return o.Paused }}
	toResumed   = told[event.Pause]{"Resumed", func(o *Observer) func(event.Pause) { return o.Resumed }}
	toHealth    = told[HealthCheck]{"HealthChanged", func(o *Observer) func(HealthCheck) { return o.HealthChanged }}
)

// tell calls one function of every observer that has it.
func tell[T any](o *observers, to told[T], info T) {
	for i := range o.all {
		if f := to.of(&o.all[i]); f != nil {
			o.guarded(fault{i, to.name}, func() { f(info) })
		}
	}
}

// fault is a function of an observer that has panicked.
type fault struct {
	observer int
	function string
}

// guarded calls a function of an observer. A panic is logged, once for each function, and
// changes nothing else.
func (o *observers) guarded(at fault, call func()) {
	defer func() {
		cause := recover()
		if cause == nil {
			return
		}
		if _, logged := o.faults.LoadOrStore(at, nil); !logged {
			o.logger.Error("an observer has panicked; this is logged once for each of its functions",
				"function", at.function, "panic", guard.PanicText(cause), "stack", string(debug.Stack()))
		}
	}()
	call()
}

// later reports a change on a goroutine of its own, because the bus notices it while it
// holds locks that an observer might need. If too many changes wait for slow observers
// it drops this one and logs that.
func later[T any](o *observers, to told[T], info T) {
	if !slices.ContainsFunc(o.all, func(one Observer) bool { return to.of(&one) != nil }) {
		return
	}
	if !o.changes.Offer(func() { tell(o, to, info) }) {
		o.logger.Warn("the observer is too slow; it misses a change", "function", to.name)
	}
}

// publishedInfo describes a stored event to observers.
func publishedInfo(r *engine.Record) PublishedInfo {
	return PublishedInfo{ID: r.ID, Type: r.Type, Due: r.Due, Duplicate: r.Duplicate}
}

// breakerChanged tells of a breaker that opens, tries or closes.
func (o *observers) breakerChanged(s *innerSubscription, old, now breaker.Status) {
	later(o, toBreaker, BreakerInfo{Subscription: s.name, Group: s.config.group, Ephemeral: s.config.ephemeral, Old: old, New: now})
}

// pausesChanged is called by the log with what is paused now.
func (b *innerBus) pausesChanged(now []engine.Pause) {
	b.pausing.set(now)
	b.observers.pausesChanged(now)
}

// pausesChanged tells of what is not among those told before, and of what no
// longer is.
func (o *observers) pausesChanged(now []engine.Pause) {
	o.pausing.Lock()
	defer o.pausing.Unlock()
	for _, p := range o.paused {
		if !slices.Contains(now, p) {
			later(o, toResumed, publicPause(p))
		}
	}
	for _, p := range now {
		if !slices.Contains(o.paused, p) {
			later(o, toPaused, publicPause(p))
		}
	}
	o.paused = now
}
