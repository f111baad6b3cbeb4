package memory

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
	"github.com/busgen/busgen/runtime/internal/memview"
	"github.com/busgen/busgen/runtime/internal/typenames"
)

// inspection looks into a log. It does what the conformance tests ask for; what it
// cannot do is in inspect_unsupported.go. Names are those that the newest catalogue gives.
type inspection struct {
	*store
	actor string
}

var _ engine.Inspectable = (*Engine)(nil)

// Inspect implements [engine.Inspectable].
func (e *Engine) Inspect(_ context.Context, target, actor string) (engine.Inspection, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if s := e.stores[target]; s != nil {
		return &inspection{s, actor}, nil
	}
	return nil, &engine.StorageError{Fault: engine.IO, Op: "open", Path: target, Err: errors.New("no bus has opened a log of this name in this process")}
}

// Close implements [engine.Inspection].
func (in *inspection) Close() error { return nil }

// Status implements [engine.StatusReader]. It counts no rates.
func (in *inspection) Status(ctx context.Context, limit int, _ engine.Status) (engine.Status, error) {
	status := engine.Status{At: time.Now().UTC(), Path: in.target}
	status.Subscriptions, _ = in.Subscriptions(ctx, limit)
	in.mu.Lock()
	defer in.mu.Unlock()
	types := map[string]*engine.TypeCount{}
	in.eachFrom(in.oldest, func(r *engine.Record) {
		status.Events++
		status.Newest = r.CreatedAt
		if status.Oldest.IsZero() {
			status.Oldest = r.CreatedAt
		}
		name := in.nameOf(r.Type)
		if types[name] == nil {
			routed := slices.ContainsFunc(in.subscriptions, func(sub *subscription) bool { return sub.routes[r.Type] })
			types[name] = &engine.TypeCount{Name: name, Unrouted: !routed, Oldest: r.CreatedAt}
		}
		types[name].Events++
		types[name].Newest = r.CreatedAt
	})
	for _, count := range types {
		status.Types = append(status.Types, *count)
	}
	slices.SortFunc(status.Types, func(a, b engine.TypeCount) int { return cmp.Compare(a.Name, b.Name) })
	for i := range status.Subscriptions {
		s := &status.Subscriptions[i]
		s.Unhandled = s.Backlog > 0 && slices.Contains(in.activity.Unhandled, s.Name)
		s.Saturated = s.Backlog > 0 && slices.Contains(in.activity.Saturated, s.Name)
		status.DeadLetters += s.Dead
	}
	for _, p := range in.pauses {
		one := engine.PauseState{Subscription: p.Target, Since: p.Since, Actor: p.Actor, Reason: p.Reason}
		if p.Kind == engine.PauseType {
			one.Subscription, one.Types = "", p.Target
		}
		status.Pauses = append(status.Pauses, one)
	}
	if in.owner != nil {
		status.Owner = &engine.Owner{PID: pid, Since: in.since.UTC(), Alive: true}
	}
	status.Breakers, status.Running = in.activity.Breakers, in.activity.Attempts
	return status, nil
}

// Subscriptions implements [engine.StatusReader].
func (in *inspection) Subscriptions(_ context.Context, limit int) (states []engine.SubscriptionState, err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, sub := range in.subscriptions {
		states = append(states, in.lagOf(sub, limit))

	}
	return states, nil
}

// Names implements [engine.StatusReader].
func (in *inspection) Names(context.Context) (names engine.Names, err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, sub := range in.subscriptions {
		names.Subscriptions = append(names.Subscriptions, sub.name)
	}
	for _, sub := range in.subscriptions {
		names.Subscriptions = append(names.Subscriptions, sub.former...)
	}
	for _, name := range append(field(in.types, func(r typenames.Row) string { return r.Name }), field(in.types, func(r typenames.Row) string { return r.Written })...) {
		if !slices.Contains(names.Types, name) {
			names.Types = append(names.Types, name)
		}
	}
	return names, nil
}

func field[T any](all []T, of func(T) string) (texts []string) {
	for _, one := range all {
		texts = append(texts, of(one))
	}
	return texts
}

// Activity implements [engine.StatusReader].
func (in *inspection) Activity(context.Context) (engine.Activity, engine.Owner, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.activity, engine.Owner{PID: pid, Since: in.since.UTC(), Alive: in.owner != nil}, nil
}

// Schema implements [engine.DeadLetterReader].
func (in *inspection) Schema(_ context.Context, eventType string) (newest engine.Schema, err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for key, schema := range in.schemas {
		if in.nameOf(key.Name) != in.nameOf(eventType) || schema.Version < newest.Version {
			continue
		}
		if schema.Version > newest.Version || schema.StoredAt.After(newest.StoredAt) {
			newest = schema
		}
	}
	return newest, nil
}

// Audit implements [engine.AuditReader].
func (in *inspection) Audit(_ context.Context, f engine.AuditFilter, p engine.Page) ([]engine.AuditEntry, string, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	found := slices.DeleteFunc(slices.Clone(in.audit), func(e engine.AuditEntry) bool {
		return f.Actor != "" && e.Actor != f.Actor || len(f.Actions) > 0 && !slices.Contains(f.Actions, e.Action) ||
			f.Subscription != "" && in.known(f.Subscription) != in.known(e.Subscription) || f.Event != uuid.Nil && e.EventID != f.Event ||
			!memview.Within(e.At, f.Since, f.Until)
	})
	return memview.Page(p, found, 1, func(e engine.AuditEntry) []int64 { return []int64{e.ID} }, false)
}

// note adds an entry to the audit.
func (s *store) note(e engine.AuditEntry) {
	e.ID, e.At = int64(len(s.audit)+1), time.Now().UTC()
	s.audit = append(s.audit, e)
}

// Events implements [engine.EventReader].
func (in *inspection) Events(_ context.Context, f engine.Filter, p engine.Page) ([]engine.Event, string, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.eventsFrom(in.oldest, f, p)
}

// SearchEvents implements [engine.EventReader].
func (in *inspection) SearchEvents(_ context.Context, f engine.Filter, p engine.Page, most int) (found engine.EventSearch, err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	after, err := p.Place(1)
	if err != nil {
		return found, err
	}
	before := in.last + 1
	if after != nil {
		before = min(before, after[0])
	}
	first := max(in.oldest, before-int64(most))
	found.Events, found.Next, err = in.eventsFrom(first, f, p)
	if err == nil && found.Next == "" && first > in.oldest {
		found.Next, found.Back = engine.CursorAt(first), time.Now().UTC() // if all of them were pruned
		in.eachFrom(first, func(r *engine.Record) {
			if r.CreatedAt.Before(found.Back) {
				found.Back = r.CreatedAt
			}
		})
	}
	return found, err
}

// eventsFrom returns a page of the events from a place on.
func (in *inspection) eventsFrom(first int64, f engine.Filter, p engine.Page) ([]engine.Event, string, error) {
	seqs := map[uuid.UUID]int64{}
	var found []engine.Event
	in.eachFrom(first, func(r *engine.Record) {
		if event := in.eventOf(r); in.chooses(f, r, event) {
			seqs[r.ID] = r.Seq
			found = append(found, event)
		}
	})
	return memview.Page(p, found, 1, func(e engine.Event) []int64 { return []int64{seqs[e.ID]} }, false)
}

// chooses reports whether a filter of events chooses an event.
func (in *inspection) chooses(f engine.Filter, r *engine.Record, event engine.Event) bool {
	return memview.Matches(f, r, in.namesOf, in.errorsOf(r)) && memview.Within(r.CreatedAt, f.Since, f.Until) && (f.Status == "" || f.Status == event.Status)
}

// Event implements [engine.EventReader].
func (in *inspection) Event(_ context.Context, id uuid.UUID) (history engine.EventHistory, err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	err = &engine.NotFoundError{Thing: "event", Name: id.String()}
	in.eachFrom(in.oldest, func(r *engine.Record) {
		if r.ID != id {
			return
		}
		err = nil
		history.Event = in.eventOf(r)
		for _, sub := range in.subscriptions {
			if d := sub.deliveries[r.Seq]; d != nil || sub.routes[r.Type] && sub.start < r.Seq {
				history.Deliveries = append(history.Deliveries, sub.stateOf(r))
			}
		}
		slices.SortFunc(history.Deliveries, func(a, b engine.DeliveryState) int { return cmp.Compare(a.Subscription, b.Subscription) })
	})
	return history, err
}

// EventsWithID implements [engine.EventReader].
func (in *inspection) EventsWithID(_ context.Context, digits []byte, limit int) (ids []uuid.UUID, err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.eachFrom(in.oldest, func(r *engine.Record) {
		if memview.BeginsWith(r.ID, digits) {
			ids = append(ids, r.ID)
		}
	})
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	return ids[:min(limit, len(ids))], nil
}

// Unsettled implements [engine.EventReader].
func (in *inspection) Unsettled(_ context.Context, visit func(engine.Unsettled)) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.eachFrom(in.oldest, func(r *engine.Record) {
		one := engine.Unsettled{ID: r.ID, Type: in.nameOf(r.Type), Names: in.namesOf(r.Type), Version: r.Version, Payload: r.Payload}
		for _, sub := range in.subscriptions {
			d := sub.deliveries[r.Seq]
			switch {
			case d != nil && d.State == ledger.Dead:
				one.Dead++
			case d != nil && d.State.Open(), d == nil && sub.routes[r.Type] && sub.passes(r):
				one.Open++
			}
		}
		if one.Open+one.Dead > 0 && r.Type[0] != engine.OwnType {
			visit(one)
		}
	})
	return nil
}

// eventOf returns an event with the states of its deliveries taken together.
func (in *inspection) eventOf(r *engine.Record) engine.Event {
	event := engine.Event{
		ID: r.ID, Type: in.nameOf(r.Type), Version: r.Version, Status: engine.StatusDone, PublishedAt: r.CreatedAt.UTC(), Due: r.Due.UTC(),
		Payload: r.Payload, Metadata: r.Metadata, Seq: r.Seq,
	}
	l := engine.LineageOf(r.Metadata)
	event.CorrelationID, event.ParentID, event.PublishedBy, event.Hops = l.CorrelationID, l.ParentID, l.PublishedBy, l.Hops
	rank := func(status string) int {
		return slices.Index([]string{engine.StatusDone, engine.StatusDLQ, engine.StatusPending, engine.StatusProcessing}, status)
	}
	for _, sub := range in.subscriptions {
		d := sub.deliveries[r.Seq]
		if d == nil && (!sub.routes[r.Type] || sub.start >= r.Seq) {
			continue
		}
		if d != nil {
			event.Failures = max(event.Failures, len(d.attempts)-d.History)
		}
		status := engine.StatusPending
		switch sub.stateOf(r).State {
		case engine.StateDone, engine.StateDiscarded:
			status = engine.StatusDone
		case engine.StateDead:
			status = engine.StatusDLQ
		case engine.StateRunning:
			status = engine.StatusProcessing
		}
		if rank(status) > rank(event.Status) {
			event.Status = status
		}
	}
	return event
}

// stateOf returns where an event stands for a subscription.
func (sub *subscription) stateOf(r *engine.Record) engine.DeliveryState {
	state := engine.DeliveryState{Subscription: sub.name, State: engine.StateDone}
	d := sub.deliveries[r.Seq]
	if d == nil {
		if sub.passes(r) {
			state.State = engine.StatePending
		}
		return state
	}
	state.Failures, state.Attempts, state.Reason = len(d.attempts), slices.Clone(d.attempts), d.Reason
	if d.State.Open() {
		state.Counted = d.Failures
	}
	switch {
	case d.by != nil:
		if state.State = engine.StatePending; !d.started.IsZero() {
			state.State = engine.StateRunning
		}
	case d.State == ledger.Waiting:
		if state.State, state.Due = engine.StateWaiting, d.Row.Due.UTC(); d.Cancelled {
			state.State = engine.StateDiscarded
		}
	case d.State == ledger.Held:
		if state.State = engine.StateHeld; !d.HeldSince.IsZero() {
			state.Held, state.Due = d.HeldSince.UTC(), d.Row.Due.UTC()
		}
	case d.State == ledger.Dead:
		state.State, state.Settled = engine.StateDead, d.Ended.UTC()
	case d.State == ledger.Discarded:
		state.State, state.Settled = engine.StateDiscarded, d.Ended.UTC()
	}
	return state
}

// errorsOf returns the errors of all attempts at an event.
func (s *store) errorsOf(r *engine.Record) (texts []string) {
	for _, sub := range s.subscriptions {
		if d := sub.deliveries[r.Seq]; d != nil {
			texts = append(texts, field(d.attempts, func(a engine.FailedAttempt) string { return a.Error })...)
		}
	}
	return append(texts, string(r.Metadata))
}
