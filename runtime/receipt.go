package runtime

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/dispatch/errs"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// Receipt stands for a published event.
type Receipt struct {
	ID uuid.UUID // of the event, UUIDv7
	// Duplicate says that nothing was stored, because an event with the same
	// dedupe key was stored before. The receipt is that event's.
	Duplicate bool
	staged    bool

	bus any // an *innerBus
	tx  any // the within that it was published in; nil for none
	seq int64
}

// Wait returns when every subscription of the file has settled the event: handled or
// discarded it, or made it a dead letter after its last retry. That includes
// subscriptions whose handlers run in another process. The errors are:
//
//   - the error of ctx, if it ends first
//   - [ErrStaged], at once, for an event that a handler has published with its context and
//     without [Immediately]
//   - [transact.ErrInTx] and [transact.ErrTxUndone], or the *[event.StorageError] that is InDoubt, at once, for an event
//     of a [Tx] that is not stored yet, and
//     of one that was not; [transact.ErrUncommitted] for one that was published with [In] and is not in
//     the file
//   - [ErrShutdown], when the bus is shut down meanwhile
//   - *[WaitCycleError], at once, in a handler for whose event the event's handlers wait
//   - [event.ErrRestored], when a backup is restored into the file meanwhile
//   - *[event.StorageError], when the file cannot be read or is gone
//
// With the context of a handler, which then waits for an event published with
// [Immediately] or any other, the handler does not stand in the way of the event: while it
// waits, its worker, its place in the subscription's concurrency and its partition key are
// free for deliveries of the event, and for what their handlers wait for in turn. These
// deliveries overtake all others, in every subscription of this bus, but none runs beside
// a running handler of the same partition key, or beyond the concurrency. An ordinary event
// overtakes only deliveries that the subscription has in memory, at most 256. Pauses, open
// breakers and suspects of a crash hold back these deliveries like all others.
//
// The handler goes on when its place is free again. If ctx ends, Wait returns at once, and
// what has begun goes on beside the handler. The time of the attempt goes on, too: when it
// is up Wait returns. When the bus or the subscription stops, Wait returns [ErrShutdown]; a
// handler that returns this error is released, which does not count as a failed attempt.
// If several goroutines of a handler wait, the last one takes the place back.
func (r *Receipt) Wait(ctx context.Context) (Outcome, error) {
	if r.staged {
		return Outcome{}, ErrStaged
	}
	if tx, ok := r.tx.(within); ok {
		if err := tx.wait(ctx, r); err != nil {
			return Outcome{}, err
		}
	}
	b := r.bus.(*innerBus)
	defer b.keep()
	var settled []engine.Settlement
	var err error
	if a := b.attemptOf(ctx); a == nil {
		settled, err = b.outcome(ctx, r.ID, r.seq)
	} else {
		settled, err = b.outcomeFor(ctx, a, r.ID, r.seq)
	}
	if err != nil {
		return Outcome{}, public(err)
	}
	outcome := Outcome{ID: r.ID}
	for _, s := range settled {
		one := DeliveryOutcome{
			Subscription: s.Subscription, Dead: s.State == event.StateDead, Discarded: s.State == event.StateDiscarded, Cancelled: s.Cancelled(),
			Reason: s.Reason, Failures: s.Failures, LastError: s.Error,
		}
		if one.Dead && s.Failures > 0 {
			one.Err = errs.NewHandlerError(s.Error, b.causes.of(causeKey{r.ID, s.Subscription}, s.Error))
		}
		outcome.Deliveries = append(outcome.Deliveries, one)
	}
	return outcome, nil
}

// Outcome says what became of an event, for each subscription that it was for.
type Outcome struct {
	ID         uuid.UUID
	Deliveries []DeliveryOutcome // in the order in which the subscriptions were made; empty if no subscription matches
}

// DeliveryOutcome says what became of an event for one subscription.
type DeliveryOutcome struct {
	Subscription string
	Dead         bool   // given up
	Discarded    bool   // settled without having been handled; neither: handled
	Cancelled    bool   // discarded by [Bus.Cancel], or by an operator with "busgen events cancel"
	Reason       string // of a dead one: max_attempts, permanent, decode, crash, expired or max_snoozes; of a discarded one in words
	Failures     int    // failed attempts
	LastError    string // of the last failed attempt
	// Err is that error of a dead one, a *[HandlerError]; nil if no attempt has failed. [errors.Is] and
	// [errors.As] find in it what the handler has returned, if this process has that (Known).
	Err error
}

// HandlerError is the last error of a dead letter, for those who wait for its event: in an
// [Outcome], and from [Request] and [Collect]. It has the text that is stored. [errors.Is] and
// [errors.As] find in it what the handler has returned.
//
// It steers nothing: for a handler that returns it, it is an error like any other. What the other handler
// has asked for ([Permanent], [RetryAfter], [Snooze], [ask.ErrNoAnswer] and so on) does not count, and
// rules for classes of errors ([WithErrorClass], [WithPermanentErrors]) do not look into it. So it makes no
// difference whether the error is Known. A handler that knows what to do says so itself:
//
//	if errors.Is(outcome.Err(), ErrCardExpired) {
//		return runtime.Permanent(outcome.Err())
//	}
//
//	type HandlerError struct {
//		Text string
//		// Known says that this process has the error that the handler has returned. If not, there is only
//		// the text: another process has handled the event, or an earlier life of this one; more than 1024
//		// other events have died since; or the methods of the error panic.
//		Known bool
//
//		cause error
//	}
type HandlerError = errs.HandlerError

// Err returns nil if every subscription has handled the event, or has discarded it by the word of
// its handler or of an operator. Otherwise it returns a *[DeadLetteredError], a
// *[CancelledError], or both, joined. A handler that returns it has failed: see [HandlerError].
func (o Outcome) Err() error {
	var dead []DeliveryOutcome
	var cancelled []string
	for _, d := range o.Deliveries {
		switch {
		case d.Dead:
			dead = append(dead, d)
		case d.Cancelled:
			cancelled = append(cancelled, d.Subscription)
		}
	}
	switch {
	case dead != nil && cancelled != nil:
		return errors.Join(&DeadLetteredError{o.ID, dead}, &CancelledError{o.ID, cancelled})
	case dead != nil:
		return &DeadLetteredError{o.ID, dead}
	case cancelled != nil:
		return &CancelledError{o.ID, cancelled}
	}
	return nil
}

// CancelledError says that an event was cancelled ([Bus.Cancel]) before subscriptions had handled it.
type CancelledError struct {
	ID            uuid.UUID
	Subscriptions []string // that have not handled it
}

// Error names the subscriptions.
func (e *CancelledError) Error() string {
	return fmt.Sprintf("event %s was cancelled, and was not handled by %s", e.ID, strings.Join(e.Subscriptions, ", "))
}

// DeadLetteredError says that subscriptions have given up on an event.
type DeadLetteredError struct {
	ID         uuid.UUID
	Deliveries []DeliveryOutcome // the dead ones
}

// Unwrap returns the last errors of the subscriptions: see [HandlerError].
func (e *DeadLetteredError) Unwrap() (causes []error) {
	for _, d := range e.Deliveries {
		if d.Err != nil {
			causes = append(causes, d.Err)
		}
	}
	return causes
}

// Error names the subscriptions and their last errors.
func (e *DeadLetteredError) Error() string {
	parts := make([]string, len(e.Deliveries))
	for i, d := range e.Deliveries {
		parts[i] = fmt.Sprintf("by %s after %d failed attempts (%s): %s", d.Subscription, d.Failures, d.Reason, d.LastError)
	}
	return fmt.Sprintf("event %s was dead-lettered %s", e.ID, strings.Join(parts, "; "))
}

// causes keeps the errors of the newest dead letters of this process, as handlers have
// returned them: the file has their texts only.
type causes struct {
	mu    sync.Mutex
	found map[causeKey]returned
	order [causesKept]causeKey // a ring
	next  int
}

// causesKept is for how many dead letters, so that memory does not grow with them.
const causesKept = 1024

type causeKey struct {
	event        uuid.UUID
	subscription string
}

type returned struct {
	err  error
	text string // as it is stored
}

// add keeps the last error of a dead letter.
func (c *causes) add(key causeKey, err error, text string) {
	if err == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.found == nil {
		c.found = map[causeKey]returned{}
	}
	if _, known := c.found[key]; !known {
		delete(c.found, c.order[c.next])
		c.order[c.next] = key
		c.next = (c.next + 1) % causesKept
	}
	c.found[key] = returned{err, text}
}

// of returns the error whose text is stored for a dead letter, or nil if it is not
// there any more.
func (c *causes) of(key causeKey, text string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if found, ok := c.found[key]; ok && found.text == text {
		return found.err
	}
	return nil
}
