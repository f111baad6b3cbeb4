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
//   - *[event.BegunError]: handlers run at this moment. They go on, and are not tried again if they
//     fail; of a group, no further member is called. For all other subscriptions the
//     event is cancelled.
//   - *[event.NotOpenError]: every subscription has settled the event, or none is for it
//   - *[event.NotFoundError]: the file does not have the event
//   - *[event.UnansweredError]: the event is cancelled, but another process dispatches and has not
//     said within five seconds, or before ctx has ended, whether a handler runs
//   - the error of ctx, if it ends before the transaction begins; nothing is cancelled then
//   - [ErrShutdown], when the bus is shut down, and *[event.StorageError]
//
// The bus that dispatches settles cancelled deliveries at once, or when a pause of their
// subscription ends; if there is none, the next one does at its start. Who waits for the event on the bus that
// dispatches does not wait for that: see [CancelledError]. The audit of the
// file gets an entry for each subscription. "busgen events cancel" does the same from
// outside, and "busgen events discard --undo" undoes it. The bus need not be started. Cancel is
// safe for concurrent use, and in handlers.
func (b *Bus) Cancel(ctx context.Context, id uuid.UUID) error { return busOf(b).cancel(ctx, id) }

func (b *innerBus) cancel(ctx context.Context, id uuid.UUID) error {
	defer b.keep()
	_, err := b.log.Cancel(ctx, engine.Cancellation{Event: id, Reason: engine.ReasonCancelled, Actor: thisProcess()})
	return public(err)
}
