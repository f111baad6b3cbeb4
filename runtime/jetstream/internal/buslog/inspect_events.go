package buslog

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// Events implements [engine.EventReader].
func (in *Inspection) Events(ctx context.Context, f engine.Filter, p engine.Page) ([]engine.Event, string, error) {
	if err := in.look(ctx); err != nil {
		return nil, "", err
	}
	defer in.mu.Unlock()
	var found []engine.Event
	err := in.each(1, func(r *engine.Record) bool {
		if event := in.eventFor(r); in.chooses(f, r, event) {
			found = append(found, event)
		}
		return true
	})
	if err != nil {
		return nil, "", err
	}
	return paged(p, found, 1, func(e engine.Event) []int64 { return []int64{e.Seq} }, false)
}

// chooses reports whether a filter of events chooses an event.
func (in *Inspection) chooses(f engine.Filter, r *engine.Record, event engine.Event) bool {
	return in.matches(f, r, in.errorsOf(r)) && within(r.CreatedAt, f.Since, f.Until) && (f.Status == "" || f.Status == event.Status)
}

// Event implements [engine.EventReader].
func (in *Inspection) Event(ctx context.Context, id uuid.UUID) (history engine.EventHistory, err error) {
	if err := in.look(ctx); err != nil {
		return history, err
	}
	defer in.mu.Unlock()
	r, err := in.find(id)
	if err != nil {
		return history, err
	}
	history.Event = in.eventFor(r)
	for _, s := range in.inOrder() {
		if s.rows[r.Seq] != nil || s.matches(r) && s.Start < r.Seq {
			history.Deliveries = append(history.Deliveries, in.stateOf(s, r))
		}
	}
	slices.SortFunc(history.Deliveries, func(a, b engine.DeliveryState) int { return cmp.Compare(a.Subscription, b.Subscription) })
	for _, e := range in.audit {
		if e.EventID == id {
			history.Audit = append(history.Audit, e)
		}
	}
	slices.SortFunc(history.Audit, func(a, b engine.AuditEntry) int { return cmp.Compare(a.ID, b.ID) })
	return history, nil
}

// EventsWithID implements [engine.EventReader].
func (in *Inspection) EventsWithID(ctx context.Context, digits []byte, limit int) (ids []uuid.UUID, err error) {
	if err := in.look(ctx); err != nil {
		return nil, err
	}
	defer in.mu.Unlock()
	err = in.each(1, func(r *engine.Record) bool {
		for i, digit := range digits {
			half := r.ID[i/2] >> 4
			if i%2 == 1 {
				half = r.ID[i/2] & 15
			}
			if half != digit {
				return true
			}
		}
		ids = append(ids, r.ID)
		return true
	})
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	return ids[:min(limit, len(ids))], err
}

// Unsettled implements [engine.EventReader].
func (in *Inspection) Unsettled(ctx context.Context, visit func(engine.Unsettled)) error {
	if err := in.look(ctx); err != nil {
		return err
	}
	defer in.mu.Unlock()
	return in.each(1, func(r *engine.Record) bool {
		one := engine.Unsettled{ID: r.ID, Type: in.registry.nameOf(r.Type), Names: in.registry.namesOf(r.Type), Version: r.Version, Payload: r.Payload}
		for _, s := range in.inOrder() {
			row := s.rows[r.Seq]
			switch {
			case row != nil && row.State == dead:
				one.Dead++
			case row != nil && row.open(), row == nil && s.pending(r):
				one.Open++
			}
		}
		if one.Open+one.Dead > 0 && r.Type[0] != engine.OwnType {
			visit(one)
		}
		return true
	})
}

// Follow implements [engine.EventReader].
func (in *Inspection) Follow(ctx context.Context, f engine.Following) (part engine.Followed, err error) {
	from, err := f.Mark()
	if err == nil {
		err = f.Check()
	}
	if err == nil {
		err = in.look(ctx)
	}
	if err != nil {
		return part, err
	}
	defer in.mu.Unlock()
	after, end := int64(0), in.applied
	if from != nil {
		after = from.Seq
	}
	var found []engine.Event
	err = in.each(after+1, func(r *engine.Record) bool {
		if event := in.eventFor(r); in.chooses(f.Filter, r, event) {
			found = append(found, event)
		}
		return true
	})
	switch {
	case from == nil && f.Newest:
		found = found[max(0, len(found)-f.Limit):]
	case len(found) > f.Limit:
		part.More, found = true, found[:f.Limit]
		end = found[f.Limit-1].Seq
	}
	part.Events, part.Next = found, engine.FollowMark{Seq: end, Log: in.registry.Log, At: time.Now()}.Cursor()
	return part, err
}

// eventFor returns an event with the states of its deliveries taken together. The caller
// holds mu.
func (in *Inspection) eventFor(r *engine.Record) engine.Event {
	event := engine.Event{
		ID: r.ID, Type: in.registry.nameOf(r.Type), Version: r.Version, Status: engine.StatusDone, PublishedAt: r.CreatedAt.UTC(), Due: r.Due.UTC(),
		Payload: r.Payload, Metadata: r.Metadata, Seq: r.Seq,
	}
	g := engine.LineageOf(r.Metadata)
	event.CorrelationID, event.ParentID, event.PublishedBy, event.Hops = g.CorrelationID, g.ParentID, g.PublishedBy, g.Hops
	rank := func(status string) int {
		return slices.Index([]string{engine.StatusDone, engine.StatusDLQ, engine.StatusPending, engine.StatusProcessing}, status)
	}
	for _, s := range in.inOrder() {
		row := s.rows[r.Seq]
		if row == nil && (!s.matches(r) || s.Start >= r.Seq) {
			continue
		}
		if row != nil {
			event.Failures = max(event.Failures, len(row.Attempts)-row.History)
		}
		status := engine.StatusPending
		switch in.stateOf(s, r).State {
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

// stateOf returns where an event stands for a subscription. The caller holds mu.
func (l *Log) stateOf(s *sub, r *engine.Record) engine.DeliveryState {
	state := engine.DeliveryState{Subscription: s.Name, State: engine.StateDone}
	ran := slices.ContainsFunc(s.cursor.Ran, func(c claim) bool { return c.Seq == r.Seq })
	row := s.rows[r.Seq]
	if a := s.asks[r.Seq]; a != nil && !ran && (row == nil && s.pending(r) || row != nil && row.open()) {
		state.State, state.Reason = engine.StateDiscarded, a.Reason
		return state
	}
	if row == nil {
		switch {
		case ran:
			state.State = engine.StateRunning
		case s.pending(r):
			state.State = engine.StatePending
			if r.Due.After(time.Now()) {
				state.State, state.Due = engine.StateWaiting, r.Due.UTC()
			}
		}
		return state
	}
	state.Failures, state.Attempts, state.Reason, state.Crashes = len(row.Attempts), slices.Clone(row.Attempts), row.Reason, row.Crashes
	if row.open() {
		state.Counted = row.Failures
	}
	switch row.State {
	case waiting:
		if state.State, state.Due = engine.StateWaiting, row.Due.UTC(); row.Cancelled {
			state.State, state.Due = engine.StateDiscarded, time.Time{}
		}
	case held:
		if state.State = engine.StateHeld; !l.typePaused(row.Type) {
			state.State = engine.StateWaiting
		}
	case dead:
		state.State, state.Settled = engine.StateDead, row.Died.UTC()
	case discarded:
		state.State, state.Settled = engine.StateDiscarded, row.Died.UTC()
	}
	if ran && row.open() {
		state.State, state.Due = engine.StateRunning, time.Time{}
	}
	return state
}
