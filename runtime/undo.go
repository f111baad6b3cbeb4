package runtime

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// Undo undoes what the steps of a handler (package step) have done of an event, as if the handler had returned step.Rollback. It is for
// an event that a subscription has handled, discarded or as a dead letter, and for one that is open, which is cancelled first: who
// waits for its delivery sees that. In the end the event is a dead letter of the subscription, with reason undone. In a group the
// name is that of the group, and the members that have handled the event keep what they have done.
//
// Undo makes the delivery due and does not wait for it. The process that dispatches notices within 200 ms. A second call changes
// nothing. The audit has an entry, with the program as actor. The bus need not be started. The errors are:
//
//   - *[event.NotFoundError]: there is no such event, or no step of it can be undone
//   - one that matches [event.ErrUnknownSubscription], with the names that the file has
//   - *[event.BegunError]: its handler runs at this moment. It goes on, and is not tried again if it fails. Call Undo again.
//   - *[event.UnansweredError]: the event is cancelled, but another process has not said whether a handler runs; call Undo again
//   - [errors.ErrUnsupported], if the engine of the bus stores no steps
//   - the error of ctx, if it ends before; [ErrShutdown], when the bus is shut down; and *[event.StorageError]
//
// Undo is safe for concurrent use.
func (b *Bus) Undo(ctx context.Context, subscription string, id uuid.UUID) error {
	return busOf(b).undo(ctx, subscription, id)
}

func (b *innerBus) undo(ctx context.Context, subscription string, id uuid.UUID) error {
	defer b.keep()
	keeper, ok := b.log.(engine.StepKeeper)
	if !ok {
		return fmt.Errorf("undo the steps of event %s: %w: %s", id, errors.ErrUnsupported, noStepKeeper)
	}
	undoing := engine.Undoing{Event: id, Subscription: subscription, Actor: thisProcess(), Why: engine.Ending{
		Reason: event.ReasonUndone, Last: event.FailedAttempt{Kind: event.KindError, Error: "undone by " + thisProcess(), Ended: time.Now()},
	}}
	err := b.log.Flush(ctx) // what was handled up to now can be undone
	if err == nil {
		err = keeper.Undo(ctx, undoing)
	}
	if !errors.Is(err, engine.ErrOpen) {
		return public(err)
	}
	_, err = b.log.Cancel(ctx, engine.Cancellation{Event: id, Subscription: subscription, Reason: engine.ReasonCancelled, Actor: undoing.Actor})
	if settled := new(*event.NotOpenError); err != nil && !errors.As(err, settled) {
		return public(err)
	}
	return public(keeper.Undo(ctx, undoing))
}
