package runtime

import (
	"context"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// Cancel is [Bus.Cancel] for the event of the receipt. For an event that a handler has
// published with its context it returns [ErrStaged], at once: the event is not stored yet,
// and never will be if the handler fails.
func (r *Receipt) Cancel(ctx context.Context) error {
	if r.staged {
		return ErrStaged
	}
	return r.bus.(*innerBus).cancel(ctx, r.ID)
}

// Cancel keeps an event from being handled: every delivery of the event that is open and
// whose handler does not run is discarded, with the reason "cancelled". That is for events
// that are delayed, that wait for a worker, a retry or the end of a pause, and for those of
// subscriptions without a handler in this program.
//
// Nil means that no handler is called for the event after Cancel has returned, in this
// process or another, now or after a restart. Some subscriptions may have handled the
// event before. The errors are:
//
//   - *[BegunError]: handlers run at this moment. They go on, and are not tried again if they
//     fail; of a group, no further member is called. For all other subscriptions the
//     event is cancelled.
//   - *[NotOpenError]: every subscription has settled the event, or none is for it
//   - *[NotFoundError]: the file does not have the event
//   - *[UnansweredError]: the event is cancelled, but another process dispatches and has not
//     said within five seconds, or before ctx has ended, whether a handler runs
//   - the error of ctx, if it ends before the transaction begins; nothing is cancelled then
//   - [ErrShutdown], when the bus is shut down, and *[StorageError]
//
// The bus that dispatches settles cancelled deliveries at once, or when a pause of their
// subscription ends; if there is none, the next one does at its start. Who waits for the event on the bus that
// dispatches does not wait for that: see [CancelledError]. The audit of the
// file gets an entry for each subscription. "busgen events cancel" does the same from
// outside, and "busgen events undiscard" undoes it. The bus need not be started. Cancel is
// safe for concurrent use, and in handlers.
func (b *Bus) Cancel(ctx context.Context, id uuid.UUID) error { return busOf(b).cancel(ctx, id) }

func (b *innerBus) cancel(ctx context.Context, id uuid.UUID) error {
	defer b.keep()
	_, err := b.log.Cancel(ctx, engine.Cancellation{Event: id, Reason: engine.ReasonCancelled, Actor: thisProcess()})
	return public(err)
}

// BegunError is returned by [Bus.Cancel] if handlers of the event run.
//
//	type BegunError struct {
//		ID        uuid.UUID // of the event
//		Running   []string  // the subscriptions whose handlers run; they are not tried again if they fail
//		Cancelled []string  // the subscriptions for which the event was cancelled
//	}
type BegunError = engine.BegunError

// UnansweredError is returned by [Bus.Cancel] if nobody knows whether a handler of the
// event runs. The event is cancelled: no handler is called for it once the process that
// dispatches looks at the file again.
//
//	type UnansweredError struct {
//		ID     uuid.UUID // of the event
//		PID    int       // of the process that dispatches
//		Waited time.Duration
//		Err    error // why nobody waited for longer; nil if the time for an answer is over
//	}
type UnansweredError = engine.UnansweredError

// NotOpenError is returned by [Bus.Cancel] for an event without an open delivery.
//
//	type NotOpenError struct {
//		Event  uuid.UUID
//		States []string // of its deliveries: charge-card dead
//	}
type NotOpenError = engine.NotOpenError

// NotFoundError says that the file does not have an event, or a subscription.
//
//	type NotFoundError struct {
//		Thing string   // event, subscription, pause, open circuit breaker, dead letter
//		Name  string   // what was asked for
//		Known []string // the names there are, of a subscription, a pause or a breaker
//		Key   Key      // of a dead letter
//		State string   // of a dead letter: what is known of the delivery, in words
//	}
type NotFoundError = engine.NotFoundError
