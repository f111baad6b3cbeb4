package runtime

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// Receipt stands for a published event.
type Receipt struct {
	ID uuid.UUID // of the event, UUIDv7
	// Duplicate says that nothing was stored, because an event with the same
	// dedupe key was stored before. The receipt is that event's.
	Duplicate bool

	bus    *Bus
	seq    int64
	staged bool
}

// Wait returns when every subscription of the file has settled the event:
// handled it, or dead-lettered it after its last retry. That includes
// subscriptions whose handlers run in another process. It returns ctx's error
// if that ends first, [ErrShutdown] when the bus is shut down meanwhile, and
// [ErrStaged] at once for an event published through a handler's context.
func (r *Receipt) Wait(ctx context.Context) (Outcome, error) {
	if r.staged {
		return Outcome{}, ErrStaged
	}
	defer r.bus.keep()
	settled, err := r.bus.log.Outcome(ctx, r.seq)
	if err != nil {
		return Outcome{}, public(err)
	}
	outcome := Outcome{ID: r.ID}
	for _, s := range settled {
		one := DeliveryOutcome{
			Subscription: s.Subscription, Dead: s.State == engine.StateDead, Discarded: s.State == engine.StateDiscarded,
			Reason: s.Reason, Failures: s.Failures, LastError: s.Error,
		}
		if one.Dead {
			one.Err = r.bus.causes.of(causeKey{r.ID, s.Subscription}, s.Error)
		}
		outcome.Deliveries = append(outcome.Deliveries, one)
	}
	return outcome, nil
}

// Outcome is what became of an event, for each subscription that it was for.
type Outcome struct {
	ID         uuid.UUID
	Deliveries []DeliveryOutcome // in the order in which the subscriptions were made; empty if nobody listens
}

// DeliveryOutcome is what became of an event for one subscription.
type DeliveryOutcome struct {
	Subscription string
	Dead         bool   // given up
	Discarded    bool   // settled without having been handled; neither: handled
	Reason       string // of a dead one: max_attempts, permanent, decode, crash, expired or max_snoozes; of a discarded one in words
	Failures     int    // failed attempts
	LastError    string // of the last failed attempt
	// Err is that error of a dead one as the handler has returned it, so that
	// [errors.Is] and [errors.As] find what it wraps. It is nil if another process has
	// handled the event, or an earlier life of this one; if more than 1024 others have
	// died since; or if it panics when it is asked.
	Err error
}

// Err returns nil if every subscription has handled or discarded the event, and
// otherwise a *[DeadLetteredError].
func (o Outcome) Err() error {
	var dead []DeliveryOutcome
	for _, d := range o.Deliveries {
		if d.Dead {
			dead = append(dead, d)
		}
	}
	if dead == nil {
		return nil
	}
	return &DeadLetteredError{ID: o.ID, Deliveries: dead}
}

// DeadLetteredError says that subscriptions have given up on an event.
type DeadLetteredError struct {
	ID         uuid.UUID
	Deliveries []DeliveryOutcome // the dead ones
}

// Unwrap returns the errors that handlers of this process have returned; see
// [DeliveryOutcome].
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
