package sqlite

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// Edit makes a new event with another payload for the subscription that has
// given up on one, and discards the dead letter. If there is none, or no longer,
// missing says what became of it and nothing is changed.
func (d *DeadLetters) Edit(ctx context.Context, key LetterKey, id uuid.UUID, payload []byte, entry AuditEntry) (missing string, err error) {
	into := "edited into " + id.String()
	entry.Action, entry.Event, entry.Subscription, entry.Count, entry.Detail = "edit", key.Event, key.Subscription, 1, into
	err = d.change(ctx, "edit a dead letter of", func() error {
		letters, err := d.page(LetterFilter{Keys: []LetterKey{key}}, LetterPage{Limit: 1})
		if err != nil {
			return err
		}
		if len(letters) == 0 {
			missing, err = whereabouts(d.conn, key)
			return err
		}
		old := letters[0]
		seq, err := appendFor(d.conn, specialEvent{
			id: id, typeKey: typeKey{old.Type, old.Version}, payload: payload, metadata: old.Metadata, createdAt: time.Now(),
			subscription: old.Mark.Subscription, parent: key.Event,
		})
		if err != nil {
			return err
		}
		err = d.conn.exec(`
			INSERT INTO deliveries (subscription, seq, state, failures, due_at, wait, progress, suspect)
			SELECT subscription, ?, 'waiting', 0, ?, 0, progress, suspect FROM deliveries WHERE subscription = ? AND seq = ?`,
			seq, time.Now(), old.Mark.Subscription, old.Mark.Seq)
		if err != nil {
			return err
		}
		if err := discard(d.conn, old.Mark.Subscription, old.Mark.Seq, into); err != nil {
			return err
		}
		return audit(d.conn, entry)
	})
	return missing, err
}

// specialEvent is an event for one subscription.
type specialEvent struct {
	id uuid.UUID
	typeKey
	payload, metadata []byte
	createdAt         time.Time
	subscription      int64
	parent            uuid.UUID // the event it was made from; zero for one of another file
}

// appendFor writes an event for one subscription, without its delivery. It is
// written like one that is delayed, whose deliveries are the rows it has: so
// nobody finds it on the way.
func appendFor(c *conn, e specialEvent) (seq int64, err error) {
	typeID, err := declareType(c, e.typeKey)
	if err != nil {
		return 0, err
	}
	err = c.exec("INSERT INTO log (id, type, payload, metadata, created_at, due_at) VALUES (?, ?, ?, ?, ?, ?)",
		e.id[:], typeID, string(e.payload), text(string(e.metadata)), e.createdAt, time.Now())
	if err != nil {
		return 0, err
	}
	seq = c.LastInsertRowID()
	return seq, c.exec("INSERT INTO origins (seq, parent, subscription) VALUES (?, ?, ?)", seq, e.parent[:], e.subscription)
}
