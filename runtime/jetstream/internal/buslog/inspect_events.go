package buslog

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
	"github.com/busgen/busgen/runtime/internal/view"
)

// Events implements [engine.EventReader].
func (in *Inspection) Events(ctx context.Context, f engine.Filter, p event.Page, most int) (search event.EventSearch, err error) {
	if err := in.look(ctx); err != nil {
		return search, err
	}
	defer in.mu.Unlock()
	if p, err = engine.CompletePage(p); err != nil {
		return search, err
	}
	after, err := engine.PlaceOf(p, 1)
	if err != nil {
		return search, err
	}
	from := in.applied
	if after != nil {
		from = min(from, after[0]-1)
	}
	var found []event.Event
	var last *engine.Record // that it looked through, if another one follows it
	looked, stopped := 0, false
	err = in.eachBack(ctx, from, func(r *engine.Record) bool {
		if stopped = most > 0 && looked == most; stopped {
			return false
		}
		looked, last = looked+1, r
		if !f.Since.IsZero() && r.CreatedAt.Before(f.Since.Add(-publisherSlack)) {
			return false
		}
		if one := in.eventFor(r); in.chooses(f, r, one) {
			found = append(found, one)
		}
		return len(found) < p.Offset+p.Limit+1
	})
	if err != nil {
		return search, err
	}
	search.Events, search.Next, err = view.Page(p, found, 1, func(e event.Event) []int64 { return []int64{e.Seq} }, false)
	if err == nil && stopped && search.Next == "" {
		search.Next, search.Back = engine.CursorAt(last.Seq), last.CreatedAt
	}
	return search, err
}

// publisherSlack is by how much the clock of a publisher may be behind those of others.
const publisherSlack = time.Hour

// chooses reports whether a filter of events chooses an event.
func (in *Inspection) chooses(f engine.Filter, r *engine.Record, one event.Event) bool {
	return in.shown(r) && view.Matches(f, r, in.registry.namesOf, in.errorsOf(r)) && view.Within(r.CreatedAt, f.Since, f.Until) &&
		(f.Status == "" || f.Status == one.Status) && in.delivers(f, r)
}

// delivers reports whether an event has a delivery to one of the subscriptions of a filter, in its state.
func (in *Inspection) delivers(f engine.Filter, r *engine.Record) bool {
	if len(f.Subscriptions) == 0 && f.State == "" {
		return true
	}
	named := func(s *sub) bool {
		return len(f.Subscriptions) == 0 || slices.ContainsFunc(f.Subscriptions, func(name string) bool {
			entry := in.registry.known(name)
			return entry != nil && in.subs[entry.ID] == s
		})
	}
	return slices.ContainsFunc(in.inOrder(), func(s *sub) bool {
		return named(s) && s.concerns(r) && (f.State == "" || f.State == in.stateOf(s, r).State)
	})
}

// concerns reports whether an event is for the subscription.
func (s *sub) concerns(r *engine.Record) bool {
	return s.rows[r.Seq] != nil || s.matches(r) && s.Start < r.Seq
}

// Event implements [engine.EventReader].
func (in *Inspection) Event(ctx context.Context, id uuid.UUID) (history event.EventHistory, err error) {
	if err := in.look(ctx); err != nil {
		return history, err
	}
	defer in.mu.Unlock()
	r, err := in.find(ctx, id)
	if err != nil {
		return history, err
	}
	history.Event = in.eventFor(r)
	for _, s := range in.inOrder() {
		if s.concerns(r) {
			history.Deliveries = append(history.Deliveries, in.stateOf(s, r))
		}
	}
	slices.SortFunc(history.Deliveries, func(a, b event.DeliveryState) int { return cmp.Compare(a.Subscription, b.Subscription) })
	if r.Origin != nil && r.Origin.Parent != uuid.Nil {
		history.MadeFrom = &r.Origin.Parent
	}
	for _, key := range in.editedInto(r) {
		history.MadeInto = append(history.MadeInto, key.EventID)
	}
	history.Audit = in.auditOf(id, nil)
	return history, nil
}

// EventsWithID implements [engine.EventReader].
func (in *Inspection) EventsWithID(ctx context.Context, digits []byte, limit int) (ids []uuid.UUID, err error) {
	if err := in.look(ctx); err != nil {
		return nil, err
	}
	defer in.mu.Unlock()
	err = in.each(ctx, 1, func(r *engine.Record) bool {
		if in.shown(r) && view.BeginsWith(r.ID, digits) {
			ids = append(ids, r.ID)
		}
		return true
	})
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	return ids[:min(limit, len(ids))], err
}

// Unsettled implements [engine.EventReader].
func (in *Inspection) Unsettled(ctx context.Context, visit func(event.Unsettled)) error {
	if err := in.look(ctx); err != nil {
		return err
	}
	defer in.mu.Unlock()
	return in.each(ctx, 1, func(r *engine.Record) bool {
		one := event.Unsettled{ID: r.ID, Type: in.registry.nameOf(r.Type), Names: in.registry.namesOf(r.Type), Version: r.Version, Payload: r.Payload}
		for _, s := range in.inOrder() {
			row := s.rows[r.Seq]
			switch {
			case row != nil && row.State == ledger.Dead:
				one.Dead++
			case row != nil && row.State.Open(), row == nil && s.pending(r):
				one.Open++
			}
		}
		if one.Open+one.Dead > 0 && !engine.IsOwn(r.Type) {
			visit(one)
		}
		return true
	})
}

// eventFor returns an event with the states of its deliveries taken together.
func (in *Inspection) eventFor(r *engine.Record) event.Event {
	one := event.Event{
		ID: r.ID, Type: in.registry.nameOf(r.Type), Version: r.Version, Status: event.StatusDone, PublishedAt: r.CreatedAt.UTC(), Due: r.Due.UTC(),
		Payload: r.Payload, Metadata: r.Metadata, Seq: r.Seq,
	}
	g := engine.LineageOf(r.Metadata)
	one.CorrelationID, one.ParentID, one.PublishedBy, one.Hops = g.CorrelationID, g.ParentID, g.PublishedBy, g.Hops
	rank := func(status string) int {
		return slices.Index([]string{event.StatusDone, event.StatusDLQ, event.StatusPending, event.StatusProcessing}, status)
	}
	for _, s := range in.inOrder() {
		if !s.concerns(r) {
			continue
		}
		if row := s.rows[r.Seq]; row != nil {
			one.Failures = max(one.Failures, row.Tries-row.History)
		}
		status := event.StatusPending
		switch in.stateOf(s, r).State {
		case event.StateDone, event.StateDiscarded:
			status = event.StatusDone
		case event.StateDead:
			status = event.StatusDLQ
		case event.StateRunning:
			status = event.StatusProcessing
		}
		if rank(status) > rank(one.Status) {
			one.Status = status
		}
	}
	return one
}

// stateOf returns where an event stands for a subscription.
func (v *logView) stateOf(s *sub, r *engine.Record) event.DeliveryState {
	state := event.DeliveryState{Subscription: s.Name, State: event.StateDone}
	ran := slices.ContainsFunc(s.of(r).Ran, func(c claim) bool { return c.Seq == r.Seq && !c.Left })
	row := s.rows[r.Seq]
	if a := s.asks[r.Seq]; a != nil && !ran && (row == nil && s.pending(r) || row != nil && row.State.Open()) {
		state.State, state.Reason = event.StateDiscarded, a.Reason
		return state
	}
	if row == nil {
		switch {
		case ran:
			state.State = event.StateRunning
		case s.pending(r):
			state.State = event.StatePending
			if r.Due.After(time.Now()) {
				state.State, state.Due = event.StateWaiting, r.Due.UTC()
			}
		}
		return state
	}
	state.Failures, state.Attempts, state.Reason, state.Crashes = len(row.Attempts), slices.Clone(row.Attempts), row.Reason, row.Crashes
	if row.State.Open() || row.State == ledger.Dead {
		state.Counted = row.Failures
	}
	switch row.State {
	case ledger.Waiting:
		if state.State, state.Due = event.StateWaiting, row.Due.UTC(); row.Cancelled {
			state.State, state.Due = event.StateDiscarded, time.Time{}
		}
	case ledger.Held:
		switch state.State = event.StateHeld; {
		case row.forVersion():
			state.Held, state.Due = row.HeldSince.UTC(), row.Due.UTC()
		case row.parked():
			state.State, state.WaitsFor = event.StateWaiting, row.Waitlist
		case !v.typePaused(row.Type):
			state.State = event.StateWaiting
		}
	case ledger.Dead:
		state.State, state.Settled = event.StateDead, row.Ended.UTC()
	case ledger.Discarded:
		state.State, state.Settled = event.StateDiscarded, row.Ended.UTC()
	}
	if ran && row.State.Open() {
		state.State, state.Due, state.Held = event.StateRunning, time.Time{}, time.Time{}
	}
	return state
}

// whereabouts says what is known of a delivery that is not dead.
func (in *Inspection) whereabouts(ctx context.Context, key event.Key) (string, error) {
	r, err := in.find(ctx, key.EventID)
	var missing *event.NotFoundError
	switch entry := in.registry.known(key.Subscription); {
	case errors.As(err, &missing):
		return "there is no such event", nil
	case err != nil:
		return "", err
	case entry == nil:
		return "there is no such subscription", nil
	default:
		s := in.subs[entry.ID]
		switch state := in.stateOf(s, r); {
		case state.State == event.StateRunning:
			return "a handler is running", nil
		case state.State == event.StateHeld && !state.Held.IsZero():
			return "it is held, because its version is newer than the program", nil
		case state.State == event.StateHeld:
			return "its type is paused", nil
		case state.State == event.StateDiscarded && s.rows[r.Seq] != nil && !s.rows[r.Seq].State.Open():
			return "it was discarded: " + state.Reason, nil
		case s.rows[r.Seq] != nil && s.rows[r.Seq].State.Open():
			return "it waits to be tried again", nil
		case state.State != event.StateDone:
			return "it has yet to be delivered", nil
		}
		return "it was handled or purged, or never meant for it", nil
	}
}
