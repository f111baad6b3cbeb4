package dispatch

import (
	"time"

	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
)

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
	// Handle. A *[BatchError] says which attempts have failed.
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
