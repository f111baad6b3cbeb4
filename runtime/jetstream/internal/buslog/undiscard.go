package buslog

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// discardedDelivery is a delivery that was discarded, or that somebody wishes to have
// discarded.
type discardedDelivery struct {
	sub *sub
	seq int64
	row *row // nil if there is a wish only
}

// Undiscard implements [engine.EventDiscarder]. Many are undone in several batches, which
// have one entry in the audit.
func (in *Inspection) Undiscard(ctx context.Context, u engine.Undo) (undone engine.Undone, err error) {
	l := &growing{in: in, entry: engine.AuditEntry{Actor: in.actor, Action: "undiscard", EventID: u.Event}}
	if u.Action != 0 {
		l.entry.Detail = "action " + strconv.FormatInt(u.Action, 10)
	}
	for more := true; more; {
		var part engine.Undone
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
func (in *Inspection) undo(action *growing, found []discardedDelivery) (msgs []*stream.Msg, undone engine.Undone, more bool) {
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

// discards returns the discards that were chosen, in the order of the log. The caller holds
// mu, which is free while the server is asked.
func (rd *reader) discards(ctx context.Context, u engine.Undo, only *subscription) (found []discardedDelivery, err error) {
	asked := int64(0) // the event, for those that have no row
	if u.Event != uuid.Nil && u.Action == 0 && slices.ContainsFunc(rd.inOrder(), func(s *sub) bool { return len(s.asks) > 0 }) {
		event, err := rd.find(ctx, u.Event)
		var missing *engine.NotFoundError
		if err != nil && !errors.As(err, &missing) {
			return nil, err
		}
		if err == nil {
			asked = event.Seq
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
