package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/tables"
	"github.com/busgen/busgen/runtime/internal/typenames"
)

// deadLetterImport implements [engine.Import].
type deadLetterImport struct {
	inTurns
	action action
}

// ImportDeadLetters implements [engine.DeadLetterEditor].
func (i *Inspection) ImportDeadLetters() (engine.Import, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed {
		return nil, engine.ErrClosed
	}
	return &deadLetterImport{inTurns{Inspection: i}, action{AuditEntry: event.AuditEntry{Actor: i.actor, Action: "import"}}}, nil
}

// Add implements [engine.Import].
func (i *deadLetterImport) Add(ctx context.Context, letters []event.DeadLetter) (added, skipped int, err error) {
	var bad *event.ImportError
	err = i.change(ctx, "import dead letters into", func(c *database.Conn) error {
		added, skipped, bad = 0, 0, nil
		for n := range letters {
			ok, wrong, err := addDeadLetter(c, &letters[n])
			if err != nil {
				return err
			}
			if wrong != "" {
				bad = &event.ImportError{Line: n, Err: errors.New(wrong)}
				break
			}
			if ok {
				added++
			} else {
				skipped++
			}
		}
		return i.action.add(c, added)
	})
	if err != nil {
		return 0, 0, err
	}
	i.action.committed()
	if bad != nil {
		return added, skipped, bad
	}
	return added, skipped, nil
}

// addDeadLetter adds one dead letter, unless its delivery is open, dead, discarded
// or handled already, or its event is erased.
func addDeadLetter(c *database.Conn, l *event.DeadLetter) (added bool, wrong string, err error) {
	subscription, err := c.Int64("SELECT "+tables.SubscriptionNamed, l.Subscription)
	if err != nil {
		return false, "", err
	}
	if subscription == 0 {
		return false, fmt.Sprintf("the bus has no subscription %q: subscribe it first, or declare it in the catalogue", l.Subscription), nil
	}
	seq, wrong, err := storedEvent(c, l)
	if wrong != "" && err == nil {
		erased, err := c.Int64("SELECT EXISTS (SELECT 1 FROM busgen_discarded WHERE subscription = ? AND seq = ? AND (reason = '"+engine.ReasonErased+"' OR substr(reason, 1, 12) = '"+ledger.EditedInto+"'))", subscription, seq)
		if err != nil || erased != 0 {
			return false, "", err
		}
	}
	if wrong != "" || err != nil {
		return false, wrong, err
	}
	made := seq == 0
	if made {
		seq, err = appendFor(c, specialEvent{
			id: l.EventID, Key: typenames.Key{Name: l.Type, Version: l.Version}, payload: l.Payload, metadata: l.Metadata, createdAt: l.PublishedAt,
			subscription: subscription, parent: uuid.Nil,
		})
	} else {
		var known int64
		known, err = c.Int64(`
			SELECT EXISTS (SELECT 1 FROM busgen_deliveries WHERE subscription = ?1 AND seq = ?2)
			    OR EXISTS (SELECT 1 FROM busgen_attempts WHERE subscription = ?1 AND seq = ?2)
			    OR EXISTS (SELECT 1 FROM busgen_discarded WHERE subscription = ?1 AND seq = ?2)
			    OR EXISTS (SELECT 1 FROM busgen_log l JOIN busgen_subscriptions s ON s.id = ?1 WHERE l.seq = ?2 AND `+notPassed+`)`,
			subscription, seq)
		if known != 0 {
			return false, "", err
		}
	}
	if err != nil {
		return false, "", err
	}
	return true, "", addRows(c, tables.RowKey{Subscription: subscription, Seq: seq}, l, made)
}

// storedEvent returns the position of the event of a dead letter in the log, or 0. It
// is wrong if the file has another event with the same id.
func storedEvent(c *database.Conn, l *event.DeadLetter) (seq int64, wrong string, err error) {
	err = c.Query(`
		SELECT l.seq, t.name = ?2 OR EXISTS (SELECT 1 FROM busgen_types o WHERE o.written = ?2 AND o.name = t.name), `+tables.Bounded("l.payload")+`
		FROM busgen_log l JOIN busgen_types t ON t.id = l.type WHERE l.id = ?1`, func(s *sqlite3.Stmt) error {
		seq = s.ColumnInt64(0)
		payload := tables.ColumnOf(s, 2)
		if err := tables.TooLong("payload", payload.Size); err != nil {
			return err
		}
		stored, err := payload.Read(c, "payload", seq)
		if err != nil {
			return err
		}
		if !s.ColumnBool(1) || !bytes.Equal(stored, l.Payload) {
			wrong = fmt.Sprintf("the bus has event %s with another type or payload", l.EventID)
		}
		return nil
	}, l.EventID[:], l.Type)
	return seq, wrong, err
}

// addRows writes a dead delivery and its attempts.
func addRows(c *database.Conn, at tables.RowKey, l *event.DeadLetter, made bool) error {
	row := ledger.Import(l, made)
	err := tables.Store(c, at, &row, time.Now(), nil)
	for _, a := range l.Attempts {
		if err == nil {
			err = tables.AddAttempt(c, at, a)
		}
	}
	return err
}

// Publish implements [engine.EventPublisher]. It goes through the view outbox, as any other program does.
func (i *Inspection) Publish(ctx context.Context, records []engine.Record) error {
	return i.change(ctx, "publish to", func(c *database.Conn) error {
		stored := 0
		for n := range records {
			if err := publish(c, &records[n]); err != nil {
				return err
			}
			if !records[n].Duplicate {
				stored++
			}
		}
		if stored == 0 {
			return nil
		}
		entry := event.AuditEntry{Actor: i.actor, Action: "publish", Count: stored, Detail: records[0].Type}
		if stored == 1 && len(records) == 1 {
			entry.EventID = records[0].ID
		}
		return tables.Audit(c, entry)
	})
}

// publish appends an event, and notes its id and its place. A former name of its type stands for today's.
func publish(c *database.Conn, r *engine.Record) error {
	newest := int64(0)
	err := c.Query(`
		SELECT name, max(version) FROM busgen_types
		WHERE written = name AND name = (SELECT name FROM busgen_types WHERE written = ? LIMIT 1)`, func(s *sqlite3.Stmt) error {
		if name := s.ColumnText(0); name != "" {
			r.Type, newest = name, s.ColumnInt64(1)
		}
		return nil
	}, r.Type)
	if err != nil {
		return err
	}
	if err := r.FitsNewest(int(newest)); err != nil {
		return err
	}
	key, delay := "", any(nil)
	if r.Dedupe != nil {
		key = r.Dedupe.Key
	}
	if !r.Due.IsZero() {
		delay = max(time.Until(r.Due), time.Millisecond).Milliseconds()
	}
	last, err := c.Int64("SELECT coalesce(max(seq), 0) FROM busgen_log")
	if err != nil {
		return err
	}
	failed := c.Exec("INSERT INTO outbox (type, payload, metadata, dedupe_key, delay_ms) VALUES (?, ?, ?, ?, ?)",
		r.Type, string(r.Payload), tables.Text(string(r.Metadata)), tables.Text(key), delay)
	found := func(s *sqlite3.Stmt) (err error) {
		r.Seq = s.ColumnInt64(0)
		r.ID, err = uuid.FromBytes(s.ColumnRawBlob(1))
		return err
	}
	r.Seq = 0
	if failed == nil {
		if err := c.Query("SELECT seq, id FROM busgen_log WHERE seq > ?", found, last); err != nil || r.Seq != 0 {
			return err
		}
		r.Duplicate = true
	}
	err = c.Query(`SELECT d.seq, d.id FROM busgen_dedupe d JOIN busgen_types t ON t.id = d.type
		WHERE t.name = (SELECT name FROM busgen_types WHERE written = ?1 LIMIT 1) AND d.key = ?2`, found, r.Type, key)
	if failed != nil && r.Seq != 0 && err == nil {
		return &event.ConflictError{EventType: r.Type, Key: key, First: r.ID}
	}
	if failed != nil {
		return failed
	}
	return err
}
