package sqlite

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/typenames"
)

// EditDeadLetter implements [engine.DeadLetterEditor].
func (i *Inspection) EditDeadLetter(ctx context.Context, key event.Key, id uuid.UUID, payload []byte) error {
	return i.change(ctx, "edit a dead letter of", func(c *database.Conn) error {
		old, err := findDeadLetter(c, key)
		if err != nil {
			return err
		}
		seq, err := appendFor(c, specialEvent{
			id: id, Key: typenames.Key{Name: old.Type, Version: old.Version}, payload: payload, metadata: old.Metadata, createdAt: time.Now(),
			subscription: old.subscription, parent: key.EventID,
		})
		if err != nil {
			return err
		}
		at, now := rowKey{old.subscription, old.seq}, time.Now()
		row, err := readRow(c, at)
		if err != nil {
			return err
		}
		edited, made := row.Edit(id.String(), now)
		if err := store(c, rowKey{old.subscription, seq}, &made, now, nil); err != nil {
			return err
		}
		if err := discard(c, at, edited.Reason); err != nil {
			return err
		}
		return audit(c, event.AuditEntry{
			Actor: i.actor, Action: "edit", EventID: key.EventID, Subscription: key.Subscription, Count: 1, Detail: edited.Reason,
		})
	})
}

// specialEvent is an event for one subscription.
type specialEvent struct {
	id uuid.UUID
	typenames.Key
	payload, metadata []byte
	createdAt         time.Time
	subscription      int64
	parent            uuid.UUID // the event it was made from; zero for one of another file
}

// appendFor writes an event for one subscription, without its delivery. It is
// written like one that is delayed, whose deliveries are the rows it has: so
// nobody finds it on the way.
func appendFor(c *database.Conn, e specialEvent) (seq int64, err error) {
	typeID, err := declareType(c, e.Key)
	if err != nil {
		return 0, err
	}
	err = c.Exec("INSERT INTO busgen_log (id, type, payload, metadata, created_at, due_at) VALUES (?, ?, ?, ?, ?, ?)",
		e.id[:], typeID, string(e.payload), text(string(e.metadata)), e.createdAt, time.Now())
	if err != nil {
		return 0, err
	}
	seq = c.LastInsertRowID()
	return seq, c.Exec("INSERT INTO busgen_origins (seq, parent, subscription) VALUES (?, ?, ?)", seq, e.parent[:], e.subscription)
}
