package sqlite

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/tables"
)

// action is the one audit row of an action in many transactions: each adds
// what it has done.
type action struct {
	event.AuditEntry
	written, pending int64 // the id of the row: committed, and of the transaction at hand
}

// add notes in the transaction at hand that n more deliveries are concerned.
func (a *action) add(c *database.Conn, n int) error {
	a.pending = a.written
	if n == 0 {
		return nil
	}
	if a.written != 0 {
		return c.Exec("UPDATE busgen_audit SET count = count + ? WHERE id = ?", n, a.written)
	}
	a.Count = n
	err := tables.Audit(c, a.AuditEntry)
	a.pending = c.LastInsertRowID()
	return err
}

// touch notes which deliveries they are, after add.
func (a *action) touch(c *database.Conn, places []tables.RowKey) error {
	if a.EventID != uuid.Nil {
		return nil // the entry itself says it
	}
	return touched(c, a.pending, places)
}

func touched(c *database.Conn, audit int64, places []tables.RowKey) error {
	for _, p := range places {
		if err := c.Exec("INSERT OR IGNORE INTO busgen_audit_deliveries (seq, subscription, audit) VALUES (?, ?, ?)", p.Seq, p.Subscription, audit); err != nil {
			return err
		}
	}
	return nil
}

// committed says that the transaction at hand was.
func (a *action) committed() { a.written = a.pending }

// Audit implements [engine.AuditReader].
func (i *Inspection) Audit(ctx context.Context, f event.AuditFilter, p event.Page) (entries []event.AuditEntry, next string, err error) {
	before, since, until := int64(never), int64(-never), int64(never)
	after, err := engine.PlaceOf(p, 1)
	if err != nil {
		return nil, "", err
	}
	if after != nil {
		before = after[0]
	}
	if !f.Since.IsZero() {
		since = f.Since.UnixMicro()
	}
	if !f.Until.IsZero() {
		until = f.Until.UnixMicro()
	}
	var one any
	ofEvent := "?7 IS NULL"
	if f.Event != uuid.Nil { // found by the indexes of events: OR would read the whole audit
		one = f.Event[:]
		ofEvent = `id IN (
			    SELECT id FROM busgen_audit WHERE event = ?7
			    UNION SELECT t.audit FROM busgen_audit_deliveries t JOIN busgen_log l ON l.seq = t.seq WHERE l.id = ?7)`
	}
	actions, err := json.Marshal(f.Actions)
	if err != nil {
		return nil, "", err
	}
	err = i.look(ctx, "read the audit of", func(c *database.Conn) error {
		first := int64(0)
		if !f.Since.IsZero() { // not the whole audit, when it is about the last minutes
			if first, err = firstActionSince(c, f.Since.Add(-clockSlack)); err != nil {
				return err
			}
		}
		entries, err = auditEntries(c, `
			SELECT at, actor, action, event, subscription, count, detail, id FROM busgen_audit
			WHERE id < ?1 AND id >= ?10 AND at >= ?2 AND at < ?3 AND (?4 IS NULL OR actor = ?4)
			  AND (?5 IS NULL OR subscription IN (SELECT name FROM `+tables.AllNames+` WHERE id = (SELECT id FROM `+tables.AllNames+` WHERE name = ?5)))
			  AND (?6 = 'null' OR action IN (SELECT value FROM json_each(?6)))
			  AND `+ofEvent+`
			ORDER BY id DESC LIMIT ?8 OFFSET ?9`,
			before, since, until, tables.Text(f.Actor), tables.Text(f.Subscription), string(actions), one, p.Limit+1, p.Offset, first)
		return err
	})
	entries, next = engine.CutPage(p, entries, func(e event.AuditEntry) []int64 { return []int64{e.ID} })
	return entries, next, err
}

// firstActionSince returns the id of the first entry that is not older than a time, or a later one if there is
// none. Times grow with ids closely enough for a binary search.
func firstActionSince(c *database.Conn, since time.Time) (first int64, err error) {
	last, err := c.Int64("SELECT coalesce(max(id), 0) FROM busgen_audit")
	for low, high := int64(0), last+1; err == nil; {
		if first = low; low >= high {
			break
		}
		middle := low + (high-low)/2
		id, at := high, since.UnixMicro()
		err = c.Query("SELECT id, at FROM busgen_audit WHERE id >= ? ORDER BY id LIMIT 1", func(s *sqlite3.Stmt) error {
			id, at = s.ColumnInt64(0), s.ColumnInt64(1)
			return nil
		}, middle)
		if at < since.UnixMicro() {
			low = id + 1
		} else {
			high = middle
		}
	}
	return first, err
}

// auditOf returns what was done to the deliveries of an event, alone or together
// with others, oldest first: to the delivery at a place, or to all of the event for
// a place without a subscription.
func auditOf(c *database.Conn, id uuid.UUID, at tables.RowKey) ([]event.AuditEntry, error) {
	return auditEntries(c, `
		SELECT at, actor, action, event, subscription, count, detail, id FROM busgen_audit
		WHERE event = ?1 AND (?3 = 0 OR subscription IS NULL OR subscription IN (SELECT name FROM `+tables.AllNames+` WHERE id = ?3))
		UNION ALL
		SELECT a.at, a.actor, a.action, a.event, s.name, a.count, a.detail, a.id
		FROM busgen_audit_deliveries t JOIN busgen_audit a ON a.id = t.audit JOIN busgen_subscriptions s ON s.id = t.subscription
		WHERE t.seq = ?2 AND (?3 = 0 OR t.subscription = ?3) AND a.event IS NULL
		ORDER BY id, subscription`, id[:], at.Seq, at.Subscription)
}

func auditEntries(c *database.Conn, sql string, args ...any) (entries []event.AuditEntry, err error) {
	err = c.Query(sql, func(s *sqlite3.Stmt) error {
		e := event.AuditEntry{
			At: database.Time(s, 0), Actor: s.ColumnText(1), Action: s.ColumnText(2), Subscription: s.ColumnText(4),
			Count: s.ColumnInt(5), Detail: s.ColumnText(6), ID: s.ColumnInt64(7),
		}
		if s.ColumnType(3) != sqlite3.NULL {
			e.EventID = database.UUID(s, 3)
		}
		entries = append(entries, e)
		return nil
	}, args...)
	return entries, err
}
