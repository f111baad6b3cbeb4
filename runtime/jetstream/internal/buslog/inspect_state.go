package buslog

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
)

// eventFor returns an event with the states of its deliveries taken together. The caller
// holds mu.
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
		row := s.rows[r.Seq]
		if row == nil && (!s.matches(r) || s.Start >= r.Seq) {
			continue
		}
		if row != nil {
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

// stateOf returns where an event stands for a subscription. The caller holds mu.
func (l *Log) stateOf(s *sub, r *engine.Record) event.DeliveryState {
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
		case !l.typePaused(row.Type):
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

// whereabouts says what is known of a delivery that is not dead. The caller holds mu.
func (l *Log) whereabouts(ctx context.Context, key event.Key) (string, error) {
	r, err := l.find(ctx, key.EventID)
	var missing *event.NotFoundError
	switch entry := l.registry.known(key.Subscription); {
	case errors.As(err, &missing):
		return "there is no such event", nil
	case err != nil:
		return "", err
	case entry == nil:
		return "there is no such subscription", nil
	default:
		s := l.subs[entry.ID]
		switch state := l.stateOf(s, r); {
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
