package buslog

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// EditDeadLetter implements [engine.DeadLetterEditor]. The event is stored first, because its
// row has to name its place. It is no part of the log until the row is stored, in one batch
// with the end of the dead letter. Its partition key is computed from the new payload.
func (in *Inspection) EditDeadLetter(ctx context.Context, key engine.Key, id uuid.UUID, payload []byte) error {
	if err := in.look(ctx); err != nil {
		return err
	}
	old, err := in.letter(ctx, key)
	in.mu.Unlock()
	if err != nil {
		return err
	}
	made, err := in.makeEvents(ctx, []*engine.Record{{
		ID: id, Type: old.Type, Version: old.Version, Payload: payload, Metadata: old.Metadata, CreatedAt: engine.Now(),
		Origin: &engine.Origin{Consumer: old.sub.ID, Parent: key.EventID},
	}})
	if err != nil {
		return err
	}
	return in.edit(ctx, func() ([]*stream.Msg, error) {
		old, err := in.letter(ctx, key)
		if err != nil {
			return nil, err
		}
		r, end := newRow(made[0]), old.row.clone()
		r.Made = true
		end.Row, r.Row = end.Edit(id.String(), time.Now())
		note := engine.AuditEntry{Actor: in.actor, Action: "edit", EventID: key.EventID, Subscription: old.sub.Name, Count: 1, Detail: end.Reason}
		return []*stream.Msg{in.rowMsg(old.sub.ID, r, old.sub.revOf(r.Seq)), in.rowMsg(old.sub.ID, end, old.rev), in.auditMsg(note)}, nil
	})
}

// makeEvents stores events that operators make, and returns them with their places. One that
// is there already, which an earlier try has left, stays.
func (ed *editor) makeEvents(ctx context.Context, records []*engine.Record) ([]*engine.Record, error) {
	var plain []engine.Record
	for _, r := range records {
		plain = append(plain, *r)
	}
	if err := ed.declareTypesOf(ctx, plain); err != nil {
		return nil, err
	}
	for len(records) > 0 {
		var msgs []*stream.Msg
		for _, r := range records {
			if r.Seq == 0 {
				msgs = append(msgs, ed.eventMsg(r))
			}
		}
		if len(msgs) == 0 {
			break
		}
		first, err := ed.append(ctx, msgs...)
		if err == nil {
			for _, r := range records {
				if r.Seq == 0 {
					r.Seq = first
					first++
				}
			}
			return records, ed.reach(ctx, first-1)
		}
		if !errors.Is(err, stream.ErrConflict) && !errors.Is(err, stream.ErrInDoubt) && !errors.Is(err, stream.ErrStored) || ctx.Err() != nil {
			return nil, ed.storage("change", err)
		}
		if err := ed.sync(ctx); err != nil {
			return nil, err
		}
		for _, r := range records {
			ed.mu.Lock()
			there, err := ed.made(ctx, r.ID)
			ed.mu.Unlock()
			if err != nil {
				return nil, err
			}
			if there != nil {
				r.Seq = there.Seq
			}
		}
	}
	return records, nil
}

// editedInto returns what operators have made from an event, for which subscriptions. The
// caller holds mu.
func (in *Inspection) editedInto(r *engine.Record) (all []engine.Key) {
	for _, s := range in.inOrder() {
		if row := s.rows[r.Seq]; row != nil && row.State == ledger.Discarded {
			text, edited := strings.CutPrefix(row.Reason, ledger.EditedInto)
			if id, err := uuid.Parse(text); err == nil && edited {
				all = append(all, engine.Key{EventID: id, Subscription: s.Name})
			}
		}
	}
	slices.SortFunc(all, func(a, b engine.Key) int { return strings.Compare(a.EventID.String(), b.EventID.String()) })
	return all
}

// madeFrom returns the events from which operators have made that of a letter, the nearest
// first. The caller holds mu, which is free while the server is asked.
func (in *Inspection) madeFrom(ctx context.Context, one letter) (ids []uuid.UUID, err error) {
	for id := one.ID; one.Made; {
		r, err := in.made(ctx, id)
		if err != nil || r == nil || r.Origin.Parent == uuid.Nil {
			return ids, err
		}
		id = r.Origin.Parent
		ids = append(ids, id)
	}
	return ids, nil
}
