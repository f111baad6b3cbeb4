package buslog

import (
	"bytes"
	"cmp"
	"context"
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
		if event := in.eventFor(r); in.chooses(f, r, event) {
			found = append(found, event)
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
func (in *Inspection) chooses(f engine.Filter, r *engine.Record, event event.Event) bool {
	return in.shown(r) && view.Matches(f, r, in.registry.namesOf, in.errorsOf(r)) && view.Within(r.CreatedAt, f.Since, f.Until) && (f.Status == "" || f.Status == event.Status)
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
		if s.rows[r.Seq] != nil || s.matches(r) && s.Start < r.Seq {
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
		if one.Open+one.Dead > 0 && r.Type[0] != engine.OwnType {
			visit(one)
		}
		return true
	})
}
