package sqlite

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/typenames"
)

// editedInto begins the reason of a dead letter that was edited.
const editedInto = "edited into "

// EditDeadLetter implements [engine.DeadLetterEditor].
func (i *Inspection) EditDeadLetter(ctx context.Context, key engine.Key, id uuid.UUID, payload []byte) error {
	into := editedInto + id.String()
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
		err = c.Exec(`
			INSERT INTO busgen_deliveries (subscription, seq, state, failures, due_at, wait, progress, suspect)
			SELECT subscription, ?, 'waiting', 0, ?, 0, progress, suspect FROM busgen_deliveries WHERE subscription = ? AND seq = ?`,
			seq, time.Now(), old.subscription, old.seq)
		if err != nil {
			return err
		}
		if err := discard(c, rowKey{old.subscription, old.seq}, into); err != nil {
			return err
		}
		return audit(c, engine.AuditEntry{
			Actor: i.actor, Action: "edit", EventID: key.EventID, Subscription: key.Subscription, Count: 1, Detail: into,
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
