package buslog

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
)

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
			event.Failures = max(event.Failures, row.Tries-row.History)
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
func (v *logView) stateOf(s *sub, r *engine.Record) engine.DeliveryState {
	state := engine.DeliveryState{Subscription: s.Name, State: engine.StateDone}
	ran := slices.ContainsFunc(s.of(r).Ran, func(c claim) bool { return c.Seq == r.Seq && !c.Left })
	row := s.rows[r.Seq]
	if a := s.asks[r.Seq]; a != nil && !ran && (row == nil && s.pending(r) || row != nil && row.State.Open()) {
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
	if row.State.Open() || row.State == ledger.Dead {
		state.Counted = row.Failures
	}
	switch row.State {
	case ledger.Waiting:
		if state.State, state.Due = engine.StateWaiting, row.Due.UTC(); row.Cancelled {
			state.State, state.Due = engine.StateDiscarded, time.Time{}
		}
	case ledger.Held:
		switch state.State = engine.StateHeld; {
		case row.forVersion():
			state.Held, state.Due = row.HeldSince.UTC(), row.Due.UTC()
		case !v.typePaused(row.Type):
			state.State = engine.StateWaiting
		}
	case ledger.Dead:
		state.State, state.Settled = engine.StateDead, row.Ended.UTC()
	case ledger.Discarded:
		state.State, state.Settled = engine.StateDiscarded, row.Ended.UTC()
	}
	if ran && row.State.Open() {
		state.State, state.Due, state.Held = engine.StateRunning, time.Time{}, time.Time{}
	}
	return state
}

// whereabouts says what is known of a delivery that is not dead. The caller holds mu.
func (in *Inspection) whereabouts(ctx context.Context, key engine.Key) (string, error) {
	r, err := in.find(ctx, key.EventID)
	var missing *engine.NotFoundError
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
		case state.State == engine.StateRunning:
			return "a handler is running", nil
		case state.State == engine.StateHeld && !state.Held.IsZero():
			return "it is held, because its version is newer than the program", nil
		case state.State == engine.StateHeld:
			return "its type is paused", nil
		case state.State == engine.StateDiscarded && s.rows[r.Seq] != nil && !s.rows[r.Seq].State.Open():
			return "it was discarded: " + state.Reason, nil
		case s.rows[r.Seq] != nil && s.rows[r.Seq].State.Open():
			return "it waits to be tried again", nil
		case state.State != engine.StateDone:
			return "it has yet to be delivered", nil
		}
		return "it was handled or purged, or never meant for it", nil
	}
}
