package buslog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

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
func rowOfLetter(event *engine.Record, l *event.DeadLetter) *row {
	r := newRow(event)
	r.Made, r.Attempts = event.Origin != nil, l.Attempts
	r.Row = ledger.Import(l, r.Made || r.Delayed)
	return r
}
