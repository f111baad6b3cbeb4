package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/internal/glob"
	"github.com/busgen/busgen/runtime/event"
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

// RemoveError says why [Bus.Remove] does not remove a subscription. Nothing was done.
type RemoveError struct {
	Subscription string
	Problem      string
}

// Error names the subscription.
func (e *RemoveError) Error() string {
	return fmt.Sprintf("remove subscription %q: %s", e.Subscription, e.Problem)
}

// Remove ends a durable subscription, or a group by its name, for good: its handler, if
// this bus has one, and what the file has of it. Open events are settled by that, and its
// dead letters, the record of its failures and its pause are deleted. The events themselves
// stay. It is what "busgen subscriptions remove" does, for a program that goes on. The log
// has a line with the numbers, and the audit an entry. Whoever subscribes with the name
// afterwards makes a new subscription.
//
// Remove first detaches the handler as [Subscription.Unsubscribe] does, and waits for the
// one that is running, as that does. If ctx ends before the file is changed, the error is that of ctx, and
// the subscription is in the file, without a handler. The removal is one transaction, for
// which publishers wait: up to a second for a hundred thousand dead letters. It is safe to
// call at the same time from several goroutines. The other errors are:
//
//   - *[event.NotFoundError]: no subscription of the file has the name now; Known lists those that do
//   - *[RemoveError]: the catalogue declares the name, so the next Open would make it again
//   - [ErrInsideHandler]: a handler of the subscription calls Remove
//   - *[event.OwnedError]: another process dispatches from the file, and may be handling its events
//   - [ErrShutdown], *[event.StorageError]
func (b *Bus) Remove(ctx context.Context, name string) error { return busOf(b).remove(ctx, name) }

func (b *innerBus) remove(ctx context.Context, name string) error {
	defer b.keep()
	declared, known := b.catalogue.declared[name]
	if known && declared.Group == "" || b.catalogue.group(name) != nil {
		return &RemoveError{name, "the catalogue declares it, and the next start would make it again; remove it from the catalogue first"}
	}
	b.mu.Lock()
	if b.state == stopping {
		b.mu.Unlock()
		return ErrShutdown
	}
	f := b.feedNamed(name)
	running := b.state == running
	b.mu.Unlock()
	if f != nil && b.onWorker(f) {
		return ErrInsideHandler
	}
	if f != nil && running {
		if err := (*f.members.Load())[0].unsubscribe(ctx); err != nil {
			return err
		}
	}

	end, err := b.change(ctx) // nobody subscribes with the name meanwhile
	if err != nil {
		return err
	}
	defer end()
	f, err = b.mayRemove(name)
	if err != nil {
		return err
	}
	removed, err := b.log.RemoveConsumer(ctx, name, thisProcess())
	if err != nil {
		return public(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if f != nil { // it was never started
		if f.detached == nil {
			f.detached = make(chan struct{})
			close(f.detached)
		}
		b.subscriptions = slices.DeleteFunc(slices.Clone(b.subscriptions), func(s *innerSubscription) bool { return s.feed == f })
		b.setFeeds(slices.DeleteFunc(slices.Clone(b.feeds), func(other *feed) bool { return other == f }))
	}
	b.config.logger.Info("subscription is removed", "subscription_id", name, "open", removed.Open, "dead", removed.Dead)
	return nil
}

// Replay delivers handled events to one subscription again, in the order of the log, each
// with a fresh count of attempts, and returns how many. Their [Event].Replayed is true and
// their Attempt greater than 1. No other subscription notices. The name may be a former
// one, and of a subscription of another process; in a group it is that of the group.
//
// Events that the subscription has not handled yet, has as dead letters or has discarded
// stay as they are, as do those from before it began; events that were pruned are gone.
// Events that are published while Replay runs are not part of it. One that was open when
// Replay began, and that the subscription handles before its turn, may be.
//
// Replay makes the deliveries due and does not wait for them; the process that dispatches
// notices within 200 ms. It works in small transactions, so that publishers do not wait
// for long. When ctx ends or the process dies, each event was replayed or not, and the
// number is right with any error; a second call replays the same events once more. The
// audit has one entry, with the program as actor. In a handler it is at once, whatever
// becomes of the handler. The bus need not be started. The errors are:
//
//   - the error of ctx, if it ends first
//   - one that matches [event.ErrUnknownSubscription], with the names that the file has
//   - one that says that the file does not have the event of From
//   - [ErrShutdown], when the bus is shut down
//   - *[NotInspectableError], when the engine of the bus cannot do it
//   - *[event.StorageError], when the file cannot be read or written
func (b *Bus) Replay(ctx context.Context, subscription string, f event.ReplayFilter) (replayed int, err error) {
	return busOf(b).replay(ctx, subscription, f)
}

func (b *innerBus) replay(ctx context.Context, subscription string, f event.ReplayFilter) (replayed int, err error) {
	for _, one := range f.Types {
		if _, err := glob.Parse(strings.TrimPrefix(one, string(engine.OwnType))); err != nil {
			return 0, fmt.Errorf("replay events to %s: type %w", subscription, err)
		}
	}
	filter := event.Filter{
		Types: f.Types, Events: f.Events, CorrelationID: f.CorrelationID, ChildOf: f.ChildOf, Text: f.Text, Since: f.Since, Until: f.Until,
	}
	spec := engine.SweepSpec{Kind: engine.SweepReplay, Subscription: subscription, Filter: engine.Filter{Filter: filter}, From: f.From}
	spec.Detail = spec.InWords()
	return b.sweep(ctx, spec)
}

// sweepStep is how many deliveries one transaction changes at most.
const sweepStep = 100

// sweep changes many deliveries, in steps.
func (b *innerBus) sweep(ctx context.Context, spec engine.SweepSpec) (changed int, err error) {
	defer b.keep()
	history, err := b.history(ctx)
	if err == nil {
		err = b.log.Flush(ctx) // what was handled up to now is part of it
	}
	if err != nil {
		return 0, public(err)
	}
	steps, matched, err := history.Sweep(ctx, spec)
	if err != nil {
		return 0, public(err)
	}
	if matched == 0 {
		return 0, nil
	}
	// The number that matched is not the end: a step may find events that were handled since.
	for {
		keys, err := steps.Step(ctx, sweepStep, false)
		if err != nil || len(keys) == 0 {
			return changed, public(err)
		}
		changed += len(keys)
		if changed == matched {
			continue // most likely the next step finds nothing
		}
		select {
		case <-b.stopRequested:
			return changed, ErrShutdown
		default:
		}
	}
}
