package dispatch

import (
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/dispatch/queue"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/limit"
	"github.com/busgen/busgen/runtime/retry"
)

// Config configures a Scheduler.
type Config struct {
	Owner       any // what Attempt.Owner returns: the bus
	Name        string
	Concurrency int // how many handlers run at once, at least 1

	// Handlers returns what a delivery of an event type goes through: the one
	// handler or, in a group, the members that are for the type, in order.
	Handlers func(eventType string) []*Handler
	Group    bool

	// Settings returns what applies to the deliveries of an event type at this
	// moment.
	Settings func(eventType string) *Settings

	// Batch returns how many deliveries a batch has at most, and how long it waits for
	// them from the first one on. Nil for a subscription without batches. It is none for
	// a group. Then the one handler has HandleBatch.
	Batch func() (size int, wait time.Duration)

	// Breaker stops the subscription while it is open. A group has none; its
	// members have.
	Breaker        *breaker.Breaker
	BreakerChanged func(key string, old, now breaker.Status)

	// Breakers has a breaker for each key, for deliveries whose settings have a BreakerBy. Nil for a group.
	Breakers *breaker.Set

	// Key returns the partition key of a delivery, or "" for none. Without it
	// deliveries have no order among each other but that of the log, which
	// concurrency and priorities can change. It runs code of the program and may
	// do anything. With an error the attempt at the delivery fails.
	Key func(d *engine.Delivery) (string, error)

	// LateKeys says that no delivery overtakes another, except deliveries whose publisher has
	// given them a priority of their own. Keys are computed from the first of these on.
	LateKeys bool

	// Keyless is the key of deliveries whose own cannot be computed.
	Keyless string

	// Strict holds back the later deliveries of a key while one waits for its
	// retry. It needs a Key, and a Keyless, that is never empty.
	Strict bool

	// Shown returns a text about a delivery, such as an error, as logs may show it. Nil shows
	// it as it is.
	Shown func(d *engine.Delivery, text string) string

	// Notice returns the dead-letter notice to append when a delivery is dead-lettered.
	Notice func(d *engine.Delivery, v engine.Disposition) []engine.Record

	// Settled is called with every disposition of a delivery, by the id of its event, after the engine
	// has it. It must not block, nor call the Scheduler. It is nil if nobody needs to know.
	Settled func(event uuid.UUID, v engine.Disposition)

	// Ephemeral says that the log does not know these deliveries. So nobody waits for
	// them, and one that would become a dead letter is dropped.
	Ephemeral bool

	// Limits are shared by the subscriptions of a bus, too. LimitKey returns the key of a
	// delivery for a limit or a breaker, by the path of a field. It runs code of the program, as Key does.
	// Nil for none.
	Limits   *limit.Set
	LimitKey func(d *engine.Delivery, by string) (string, error)

	// Shared tells whether all deliveries of the subscription need a limit without keys, by its name, or, without a name,
	// whether none has a partition key: what waits for that need not leave the way of others. Nil for no limit and no key.
	Shared func(name string) bool

	// Alone and Waits are shared by the subscriptions of a bus.
	Alone *Alone
	Waits *Waits

	// CrashLoop is shared, too. Nil for deliveries that no crash counts for.
	CrashLoop *CrashLoop

	// Interrupts is shared, too. While it is true, attempts keep what [Scheduler.Interrupt]
	// and [Attempt.Abandon] need. Nil for never.
	Interrupts *atomic.Bool

	// Reuse says that nobody keeps an attempt whose handler has succeeded, but by what the handler is given. It is not
	// for groups and batches, nor with limits.
	Reuse bool

	Logger *slog.Logger
}

// Settings steer the deliveries of one event type in one subscription. They are
// never changed, only replaced.
type Settings struct {
	Retry          retry.Policy
	Timeout        time.Duration // of one attempt; 0 for none
	SlowAfter      time.Duration // 0 for never
	SlowEventAfter time.Duration // 0 for never
	ExpiresAfter   time.Duration // 0 for never
	Version        int           // the newest that the handlers can read; 0 for any
	HoldUnknown    time.Duration // how long a newer one is held at most; 0 for not at all
	MaxSnoozes     int           // 0 for no limit
	Priority       queue.Priority
	Errors         []ErrorRule
	Limits         []declare.LimitUse
	BreakerBy      string // path of the field whose value is the key of the breaker; empty for one breaker for all
}

// ErrorRule says what errors that match mean.
type ErrorRule struct {
	Match     func(error) bool
	Permanent bool
	Retry     retry.Policy
}

// with returns the settings with what a publisher has said. They are not changed; if nothing is said they are returned
// as they are.
func (s *Settings) with(o *queue.Own) *Settings {
	if o == nil {
		return s
	}
	with := *s
	if o.Priority != nil {
		with.Priority = *o.Priority
	}
	with.Timeout = tighter(s.Timeout, o.Timeout)
	with.ExpiresAfter = tighter(s.ExpiresAfter, o.ExpiresAfter)
	return &with
}

// tighter returns the smaller of two limits, of which 0 is none.
func tighter(one, other time.Duration) time.Duration {
	if one == 0 || other == 0 {
		return max(one, other)
	}
	return min(one, other)
}

// Handler handles the deliveries of a subscription, or of one member of a group.
type Handler struct {
	Name    string   // of the member; outside of groups that of the subscription
	Aliases []string // names that the member had before

	// Handle runs the handler for one attempt. It may panic. An error that
	// is a *DecodeError says that the handler could not be called.
	Handle func(a *Attempt) error

	// Watch is called before Handle and before Started, and once for a batch, with the attempt
	// that stands for it, unless it is nil. It must not block.
	Watch func(a *Attempt)

	// Started is called before Handle, unless it is nil. It must not block.
	Started func(a *Attempt)

	// Observed says that code of the program may be called when an attempt has ended.
	Observed bool

	// Commits says that Handle does what is left for [Attempt.Commit].
	Commits bool

	// Steps says how the handler may store steps; nil if it cannot.
	Steps *Steps

	// HandleBatch runs the handler for a batch, in place of Handle. In all else it is
	// Handle. A *[errs.BatchError] says which attempts have failed.
	HandleBatch func(b *Batch) error

	// BatchEnded counts a batch that is over, and returns what tells observers, as the methods of a Counter do. Nil if
	// nobody needs to know.
	BatchEnded func(e BatchEnd) (tell func())

	// Settings returns what applies to an attempt: the timeouts.
	Settings func(eventType string) *Settings

	// Breaker passes the member of a group over while it is open.
	Breaker *breaker.Breaker

	Count Counter
}

// Counter counts what happens to deliveries. Its methods neither block nor run code of the program, but for
// TellHandled. What runs such code, to tell observers, they return; nil if there is nobody to tell.
type Counter interface {
	// Succeeded counts an attempt, and Handled says what has come of it. Succeeded may be called
	// by the engine. TellHandled is called after Handled if the [Handler] is Observed.
	Succeeded(a *Attempt, ended time.Time)
	Handled(a *Attempt, staged []engine.Record)
	TellHandled(a *Attempt, ended time.Time, staged []engine.Record)              // runs code of the program
	Failed(a *Attempt, failure *event.FailedAttempt, due time.Time) (tell func()) // due is zero when there is no further attempt
	Dead(a *Attempt, reason string, last *event.FailedAttempt) (tell func())      // last has no Kind if nothing new was tried
	Discarded(a *Attempt, reason string, ended time.Time) (tell func())
	Snoozed(a *Attempt, until, ended time.Time) (tell func())
	Suspended(a *Attempt, until, ended time.Time) (tell func())
	Slow(a *Attempt, running time.Duration) (tell func())
	SlowEvent(a *Attempt, age, running time.Duration) (tell func()) // its event has become slow while it runs
	Abandoned(a *Attempt, delta int)
}
