package sqlite

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
)

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
		return audit(c, entry)
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
		r.Type, string(r.Payload), text(string(r.Metadata)), text(key), delay)
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
