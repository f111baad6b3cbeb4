package memory

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// Cancel implements [engine.Canceller]. All processes share the memory, so nobody has to
// be asked: a delivery was begun, or Begin refuses it from now on.
func (l *Log) Cancel(ctx context.Context, spec engine.Cancellation) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := l.enter(); err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	return l.cancel(spec, l.nameHere)
}

// Cancel implements [engine.Canceller].
func (in *inspection) Cancel(ctx context.Context, spec engine.Cancellation) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.cancel(spec, func(sub *subscription) string { return sub.name })
}

// DiscardEvent implements [engine.EventDiscarder]. While a process dispatches it settles
// the delivery.
func (in *inspection) DiscardEvent(_ context.Context, id uuid.UUID, subscription, reason string) (names []string, err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	open, err := in.openTo(id, subscription)
	for _, one := range open {
		in.discard(one.delivery, reason)
		names = append(names, one.name)
		in.note(engine.AuditEntry{Actor: in.actor, Action: "discard", EventID: id, Subscription: one.name, Count: 1, Detail: reason})
	}
	in.wake()
	in.noteSettled()
	return names, err
}

func (s *store) cancel(spec engine.Cancellation, named func(*subscription) string) (cancelled []string, err error) {
	open, err := s.openTo(spec.Event, spec.Subscription)
	begun := &engine.BegunError{ID: spec.Event}
	for _, one := range open {
		if !one.started.IsZero() {
			begun.Running = append(begun.Running, named(one.subscription))
		} else {
			cancelled = append(cancelled, named(one.subscription))
		}
		if spec.Actor != "" && !one.Cancelled {
			s.note(engine.AuditEntry{Actor: spec.Actor, Action: "cancel", EventID: spec.Event, Subscription: one.name, Count: 1})
		}
		s.discard(one.delivery, spec.Reason)
	}
	s.wake()
	s.noteSettled()
	if len(begun.Running) > 0 {
		begun.Cancelled = cancelled
		return cancelled, begun
	}
	return cancelled, err
}

// openDelivery is a delivery that is not settled, with its subscription.
type openDelivery struct {
	*subscription
	*delivery
}

// openTo returns the open deliveries of an event, to one subscription or to all for an
// empty name. Without one the error says why. The caller holds mu.
func (s *store) openTo(id uuid.UUID, name string) (open []openDelivery, err error) {
	only := s.known(name)
	if name != "" && only == nil {
		return nil, &engine.NotFoundError{Thing: "subscription", Name: name, Known: s.names()}
	}
	err = &engine.NotFoundError{Thing: "event", Name: id.String()}
	s.eachFrom(s.oldest, func(r *engine.Record) {
		if r.ID != id {
			return
		}
		settled := &engine.NotOpenError{Event: id}
		for _, sub := range s.subscriptions {
			if only != nil && sub != only {
				continue
			}
			d := sub.deliveries[r.Seq]
			if d == nil && sub.routes[r.Type] && sub.passes(r) {
				d = sub.add(r)
			}
			switch {
			case d != nil && d.State.Open():
				open = append(open, openDelivery{sub, d})
			case d != nil || sub.routes[r.Type] && sub.start < r.Seq:
				settled.States = append(settled.States, sub.name+" "+sub.stateOf(r).State)
			}
		}
		err = nil
		if len(open) == 0 {
			err = settled
		}
	})
	return open, err
}

// names returns the names of the subscriptions.
func (s *store) names() (names []string) {
	for _, sub := range s.subscriptions {
		names = append(names, sub.name)
	}
	return names
}

// discard settles an open delivery, or has the process that dispatches do so: it may hold
// back others until this one has come again. What was cancelled before keeps its reason.
func (s *store) discard(d *delivery, reason string) {
	switch {
	case d.Cancelled:
	case d.by != nil || s.owner != nil:
		d.Row = d.Cancel(reason)
	default:
		d.Row = d.Discard(reason, time.Now())
	}
}
