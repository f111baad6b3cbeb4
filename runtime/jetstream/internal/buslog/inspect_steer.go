package buslog

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// Cancel implements [engine.Canceller].
func (in *Inspection) Cancel(ctx context.Context, spec engine.Cancellation) ([]string, error) {
	if spec.Unasked {
		return in.discard(ctx, spec)
	}
	return in.cancel(ctx, spec, func(s *sub) string { return s.Name })
}

// discard is Cancel that asks no owner. While a process dispatches it settles the delivery.
func (in *Inspection) discard(ctx context.Context, spec engine.Cancellation) (names []string, err error) {
	open, err := in.discardOpen(ctx, spec.Event, spec.Subscription, spec.Reason, func(one openDelivery) *stream.Msg {
		return in.auditMsg(event.AuditEntry{Actor: spec.Actor, Action: "discard", EventID: spec.Event, Subscription: one.sub.Name, Count: 1, Detail: spec.Reason})
	})
	for _, one := range open {
		names = append(names, one.sub.Name)
	}
	return names, err
}

// Pause implements [engine.SubscriptionSteerer].
func (in *Inspection) Pause(ctx context.Context, p engine.Pause) error {
	p.Actor = in.actor
	return in.Log.pause(ctx, p, in.noted("pause"))
}

// Resume implements [engine.SubscriptionSteerer].
func (in *Inspection) Resume(ctx context.Context, p engine.Pause) error {
	return in.Log.resume(ctx, p, in.noted("resume"))
}

// noted returns a function that returns the entry of a pause in the audit.
func (in *Inspection) noted(action string) func(engine.Pause) *stream.Msg {
	return func(p engine.Pause) *stream.Msg {
		entry := event.AuditEntry{Actor: in.actor, Action: action, Subscription: p.Target, Detail: p.Reason}
		if p.Key != "" {
			entry.Detail = strings.TrimSuffix("key "+p.Key+": "+p.Reason, ": ")
		}
		if p.Kind == engine.PauseType {
			entry.Subscription, entry.Detail = "", "events of type "+p.Target
			if p.Reason != "" {
				entry.Detail += ": " + p.Reason
			}
		}
		return in.auditMsg(entry)
	}
}

// RequestBreaker implements [engine.SubscriptionSteerer].
func (in *Inspection) RequestBreaker(ctx context.Context, subscription, key string) (r engine.BreakerRequest, err error) {
	err = in.edit(ctx, func() ([]*stream.Msg, error) {
		r = engine.BreakerRequest{Subscription: subscription, Key: key, Actor: in.actor, At: time.Now().UTC()}
		all := slices.DeleteFunc(slices.Clone(in.requests), func(other engine.BreakerRequest) bool { return other.Subscription == subscription && other.Key == key })
		entry := event.AuditEntry{Actor: in.actor, Action: "close breaker", Subscription: subscription, Count: 1}
		if key != "" {
			entry.Detail = "key " + key
		}
		note := in.auditMsg(entry)
		return []*stream.Msg{note, in.requestsMsg(append(all, r))}, nil
	})
	return r, err
}

// BreakerAnswered implements [engine.SubscriptionSteerer].
func (in *Inspection) BreakerAnswered(ctx context.Context, r engine.BreakerRequest, withdraw bool) (answered bool, err error) {
	if !withdraw {
		if err := in.look(ctx); err != nil {
			return false, err
		}
		defer in.mu.Unlock()
		return !slices.ContainsFunc(in.requests, sameRequest(r)), nil
	}
	err = in.edit(ctx, func() ([]*stream.Msg, error) {
		left := slices.DeleteFunc(slices.Clone(in.requests), sameRequest(r))
		if answered = len(left) == len(in.requests); answered {
			return nil, nil
		}
		return []*stream.Msg{in.requestsMsg(left)}, nil
	})
	return answered, err
}

// Erase implements [engine.Eraser]. A stream is append-only: a message can be deleted, but
// not changed in its place, and each process of the bus has it in memory.
func (in *Inspection) Erase(context.Context, engine.Erasure) (event.Erased, error) {
	return event.Erased{}, &event.UnsupportedError{
		Engine: "the engine on JetStream", What: "erase a person",
		Hint: "settled events leave the stream with runtime.WithRetention, and the audit and dead letters stay",
	}
}

// discardedDelivery is a delivery that was discarded, or that is to be.
type discardedDelivery struct {
	sub *sub
	seq int64
	row *row // nil if there is a wish only
}

// Undiscard implements [engine.EventDiscarder]. Many are undone in several batches, which
// have one entry in the audit.
func (in *Inspection) Undiscard(ctx context.Context, u event.Undo) (undone event.Undone, err error) {
	l := &growing{in: in, entry: event.AuditEntry{Actor: in.actor, Action: "undiscard", EventID: u.Event}}
	if u.Action != 0 {
		l.entry.Detail = "action " + strconv.FormatInt(u.Action, 10)
	}
	for more := true; more; {
		var part event.Undone
		err := in.edit(ctx, func() (msgs []*stream.Msg, err error) {
			only := in.registry.known(u.Subscription)
			switch {
			case only != nil:
				l.entry.Subscription = only.Name
			case u.Subscription != "":
				return nil, in.registry.unknown(u.Subscription)
			}
			found, err := in.discards(ctx, u, only)
			if err != nil {
				return nil, err
			}
			l.begin()
			msgs, part, more = in.undo(l, found)
			return append(msgs, l.add(part.Dead+part.Due)), nil
		})
		if err != nil {
			return undone, err
		}
		l.stored()
		undone.Dead, undone.Due, undone.Left = undone.Dead+part.Dead, undone.Due+part.Due, part.Left
	}
	return undone, nil
}

// undo returns the messages that undo discards, as far as they fit into a batch.
func (in *Inspection) undo(action *growing, found []discardedDelivery) (msgs []*stream.Msg, undone event.Undone, more bool) {
	for _, one := range found {
		switch {
		case one.row != nil && !one.row.Restorable():
			undone.Left++
		case len(msgs) > batchRoom-2:
			more = true
		case one.row == nil:
			undone.Due++
			msgs = append(msgs, in.askMsg(one.sub.ID, one.seq, nil, one.sub.asks[one.seq].rev))
			if r := one.sub.rows[one.seq]; r != nil {
				r = r.clone()
				r.Row = r.Cancel("").Restore(time.Now()) // as if its owner had answered before
				msgs = append(msgs, in.rowMsg(one.sub.ID, r, r.rev))
			}
		default:
			r := one.row.clone()
			if r.Row, r.Answer = r.Restore(time.Now()), ""; r.State == ledger.Dead {
				undone.Dead++
			} else {
				undone.Due++
			}
			action.touch(r)
			msgs = append(msgs, in.rowMsg(one.sub.ID, r, one.row.rev))
		}
	}
	return msgs, undone, more
}

// discards returns the discards that were chosen, in the order of the log.
func (rd *reader) discards(ctx context.Context, u event.Undo, only *subscription) (found []discardedDelivery, err error) {
	asked := int64(0) // the event, for those that have no row
	if u.Event != uuid.Nil && u.Action == 0 && slices.ContainsFunc(rd.inOrder(), func(s *sub) bool { return len(s.asks) > 0 }) {
		one, err := rd.find(ctx, u.Event)
		var missing *event.NotFoundError
		if err != nil && !errors.As(err, &missing) {
			return nil, err
		}
		if err == nil {
			asked = one.Seq
		}
	}
	for _, s := range rd.inOrder() {
		if only != nil && s.ID != only.ID {
			continue
		}
		for seq, r := range s.rows {
			chosen := u.Action != 0 && slices.Contains(r.Audits, u.Action) || u.Action == 0 && r.ID == u.Event
			if chosen && (r.State == ledger.Discarded || r.State.Open() && r.Cancelled) {
				found = append(found, discardedDelivery{s, seq, r})
			}
		}
		if s.asks[asked] != nil && (s.rows[asked] == nil || s.rows[asked].State.Open() && !s.rows[asked].Cancelled) {
			found = append(found, discardedDelivery{s, asked, nil})
		}
	}
	slices.SortFunc(found, func(a, b discardedDelivery) int { return cmp.Compare(a.seq, b.seq) })
	return found, nil
}

// Publish implements [engine.EventPublisher]. The entry in the audit is stored after the events.
func (in *Inspection) Publish(ctx context.Context, records []engine.Record) error {
	if err := in.look(ctx); err != nil {
		return err
	}
	var err error
	for i := range records {
		records[i].Type = in.registry.nameOf(records[i].Type)
		if err == nil {
			err = records[i].FitsNewest(in.registry.newestOf(records[i].Type))
		}
	}
	in.mu.Unlock()
	if err != nil {
		return err
	}
	if err := in.Append(ctx, records); err != nil {
		return err
	}
	entry := event.AuditEntry{Actor: in.actor, Action: "publish", Detail: records[0].Type}
	for i := range records {
		if !records[i].Duplicate {
			entry.Count++
		}
	}
	if entry.Count == 0 {
		return nil
	}
	if len(records) == 1 {
		entry.EventID = records[0].ID
	}
	return in.edit(ctx, func() ([]*stream.Msg, error) { return []*stream.Msg{in.auditMsg(entry)}, nil })
}

// newestOf returns the newest version of the payload of an event type, by any of its names; 0 for a type that is not known.
func (r *registry) newestOf(eventType string) (newest int) {
	name := r.nameOf(eventType)
	for _, t := range r.Types {
		if t.Name == name {
			newest = max(newest, t.Version, 1)
		}
	}
	return newest
}
