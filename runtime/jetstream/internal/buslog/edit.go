package buslog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// EditDeadLetter implements [engine.DeadLetterEditor]. The event is stored first, because its
// row has to name its place. It is no part of the log until the row is stored, in one batch
// with the end of the dead letter. Its partition key is computed from the new payload.
func (in *Inspection) EditDeadLetter(ctx context.Context, key event.Key, id uuid.UUID, payload []byte) error {
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
		note := event.AuditEntry{Actor: in.actor, Action: "edit", EventID: key.EventID, Subscription: old.sub.Name, Count: 1, Detail: end.Reason}
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

// editedInto returns what operators have made from an event, for which subscriptions.
func (in *Inspection) editedInto(r *engine.Record) (all []event.Key) {
	for _, s := range in.inOrder() {
		if row := s.rows[r.Seq]; row != nil && row.State == ledger.Discarded {
			text, edited := strings.CutPrefix(row.Reason, ledger.EditedInto)
			if id, err := uuid.Parse(text); err == nil && edited {
				all = append(all, event.Key{EventID: id, Subscription: s.Name})
			}
		}
	}
	slices.SortFunc(all, func(a, b event.Key) int { return strings.Compare(a.EventID.String(), b.EventID.String()) })
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

// importing adds dead letters of other logs. It implements [engine.Import].
type importing struct{ growing }

// ImportDeadLetters implements [engine.DeadLetterEditor].
func (in *Inspection) ImportDeadLetters() (engine.Import, error) {
	if err := in.enter(); err != nil {
		return nil, err
	}
	in.mu.Unlock()
	return &importing{growing{in: in, entry: event.AuditEntry{Actor: in.actor, Action: "import"}}}, nil
}

// Add implements [engine.Import]. Events that the log does not have are stored first. They
// are no part of the log until their rows are stored, all in one batch.
func (i *importing) Add(ctx context.Context, letters []event.DeadLetter) (added, skipped int, err error) {
	if len(letters) > batchRoom {
		added, skipped, err = i.Add(ctx, letters[:batchRoom])
		if err != nil {
			return added, skipped, err
		}
		a, s, err := i.Add(ctx, letters[batchRoom:])
		if bad, ok := errors.AsType[*event.ImportError](err); ok {
			bad.Line += batchRoom
		}
		return added + a, skipped + s, err
	}
	good, events, bad, err := i.check(ctx, letters)
	if err != nil {
		return 0, 0, err
	}
	err = i.in.edit(ctx, func() (msgs []*stream.Msg, err error) {
		added, skipped = 0, 0
		i.begin()
		taken := map[event.Key]bool{}
		for n := range good {
			l := &good[n]
			entry, r := i.in.registry.known(l.Subscription), events[l.EventID]
			if entry == nil {
				return nil, i.in.registry.unknown(l.Subscription) // it was removed just now
			}
			s := i.in.subs[entry.ID]
			place := event.Key{EventID: l.EventID, Subscription: entry.ID}
			if s.rows[r.Seq] != nil || s.pending(r) || taken[place] {
				skipped++
				continue
			}
			taken[place] = true
			added++
			row := rowOfLetter(r, l)
			i.touch(row)
			msgs = append(msgs, i.in.rowMsg(s.ID, row, s.revOf(r.Seq)))
		}
		return append(msgs, i.add(added)), nil
	})
	if err != nil {
		return 0, 0, err
	}
	i.stored()
	if bad != nil {
		return added, skipped, bad
	}
	return added, skipped, nil
}

// check returns the letters up to the first one that cannot be added, with their events,
// which the log has then.
func (i *importing) check(ctx context.Context, letters []event.DeadLetter) (good []event.DeadLetter, events map[uuid.UUID]*engine.Record, bad error, err error) {
	l := i.in.Log
	if err := i.in.look(ctx); err != nil {
		return nil, nil, nil, err
	}
	defer l.mu.Unlock()
	ids := map[uuid.UUID]time.Time{}
	for n := range letters {
		ids[letters[n].EventID] = letters[n].PublishedAt
	}
	if events, err = l.findNear(ctx, ids); err != nil {
		return nil, nil, nil, err
	}
	var missing []*engine.Record
	for n := range letters {
		one := &letters[n]
		entry, r := l.registry.known(one.Subscription), events[one.EventID]
		wrong := ""
		switch {
		case entry == nil:
			wrong = fmt.Sprintf("the bus has no subscription %q: subscribe it first, or declare it in the catalogue", one.Subscription)
		case r != nil && (l.registry.nameOf(r.Type) != l.registry.nameOf(one.Type) || !bytes.Equal(r.Payload, one.Payload)):
			wrong = fmt.Sprintf("the bus has event %s with another type or payload", one.EventID)
		case r == nil:
			r = &engine.Record{
				ID: one.EventID, Type: one.Type, Version: one.Version, Payload: one.Payload, Metadata: one.Metadata, CreatedAt: one.PublishedAt,
				Origin: &engine.Origin{Consumer: entry.ID},
			}
			events[one.EventID], missing = r, append(missing, r)
		}
		if wrong != "" {
			bad = &event.ImportError{Line: n, Err: errors.New(wrong)}
			break
		}
		good = append(good, *one)
	}
	l.mu.Unlock()
	_, err = l.makeEvents(ctx, missing)
	l.mu.Lock()
	return good, events, bad, err
}

// rowOfLetter returns the row of a dead letter.
func rowOfLetter(one *engine.Record, l *event.DeadLetter) *row {
	r := newRow(one)
	r.Made, r.Attempts = one.Origin != nil, l.Attempts
	r.Row = ledger.Import(l, r.Made || r.Delayed)
	return r
}
