package sqlite

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/ncruces/go-sqlite3"
)

// AuditEntry says what an operator has done.
type AuditEntry struct {
	ID           int64     // set when it is written; grows
	At           time.Time // set when it is written
	Actor        string
	Action       string
	Event        uuid.UUID // zero for an action on many
	Subscription string    // empty for an action on several
	Count        int       // how many deliveries it concerned
	Detail       string
}

// audit writes what was done, in the transaction that does it.
func audit(c *conn, e AuditEntry) error {
	var event any
	if e.Event != uuid.Nil {
		event = e.Event[:]
	}
	return c.exec("INSERT INTO audit (at, actor, action, event, subscription, count, detail) VALUES (?, ?, ?, ?, ?, ?, ?)",
		time.Now(), e.Actor, e.Action, event, text(e.Subscription), e.Count, text(e.Detail))
}

// ledger is the one audit row of an action in many transactions: each adds
// what it has done.
type ledger struct {
	AuditEntry
	written, pending int64 // the id of the row: committed, and of the transaction at hand
}

// add notes in the transaction at hand that n more deliveries are concerned.
func (l *ledger) add(c *conn, n int) error {
	l.pending = l.written
	if n == 0 {
		return nil
	}
	if l.written != 0 {
		return c.exec("UPDATE audit SET count = count + ? WHERE id = ?", n, l.written)
	}
	l.Count = n
	err := audit(c, l.AuditEntry)
	l.pending = c.LastInsertRowID()
	return err
}

// touch notes which deliveries they are, after add.
func (l *ledger) touch(c *conn, marks []LetterMark) error {
	if l.Event != uuid.Nil {
		return nil // the entry itself says it
	}
	return touched(c, l.pending, marks)
}

func touched(c *conn, audit int64, marks []LetterMark) error {
	for _, m := range marks {
		if err := c.exec("INSERT OR IGNORE INTO audit_deliveries (seq, subscription, audit) VALUES (?, ?, ?)", m.Seq, m.Subscription, audit); err != nil {
			return err
		}
	}
	return nil
}

// committed says that the transaction at hand was.
func (l *ledger) committed() { l.written = l.pending }

// Audit returns what operators have done, newest first: what comes before the
// entry with the given id, or everything for 0.
func (d *DeadLetters) Audit(ctx context.Context, before int64, offset, limit int) (entries []AuditEntry, err error) {
	err = d.look(ctx, "read the audit of", func() error {
		entries, err = auditEntries(d.conn, " WHERE ?1 = 0 OR id < ?1 ORDER BY id DESC LIMIT ?2 OFFSET ?3", before, limit, offset)
		return err
	})
	return entries, err
}

// AuditFilter chooses entries; its zero value chooses all.
type AuditFilter struct {
	Actor, Subscription string
	Actions             []string
	Event               uuid.UUID
	Since, Until        time.Time // at Since or later, before Until
	Before              int64     // only entries with a smaller id; 0 for all
	Limit               int
}

// Audit returns what operators have done, newest first.
func (a *Admin) Audit(ctx context.Context, f AuditFilter) (entries []AuditEntry, err error) {
	err = a.look(ctx, "read the audit of", func(c *conn) error {
		actions, err := json.Marshal(f.Actions)
		if err != nil {
			return err
		}
		before, since, until := f.Before, int64(-never), int64(never)
		if before == 0 {
			before = never
		}
		if !f.Since.IsZero() {
			since = f.Since.UnixMicro()
		}
		if !f.Until.IsZero() {
			until = f.Until.UnixMicro()
		}
		var event any
		if f.Event != uuid.Nil {
			event = f.Event[:]
		}
		entries, err = auditEntries(c, `
			WHERE id < ?1 AND at >= ?2 AND at < ?3 AND (?4 IS NULL OR actor = ?4)
			  AND (?5 IS NULL OR subscription IN (SELECT name FROM `+allNames+` WHERE id = (SELECT id FROM `+allNames+` WHERE name = ?5)))
			  AND (?6 = 'null' OR action IN (SELECT value FROM json_each(?6)))
			  AND (?7 IS NULL OR event = ?7 OR id IN (SELECT t.audit FROM audit_deliveries t JOIN log l ON l.seq = t.seq WHERE l.id = ?7))
			ORDER BY id DESC LIMIT ?8`, before, since, until, text(f.Actor), text(f.Subscription), string(actions), event, f.Limit)
		return err
	})
	return entries, err
}

// auditOf returns what was done to the deliveries of an event, alone or together
// with others, oldest first: all of them, or that to one subscription.
func auditOf(c *conn, id uuid.UUID, seq, subscription int64) ([]AuditEntry, error) {
	return auditEntriesFrom(c, `
		(SELECT at, actor, action, event, subscription, count, detail, id FROM audit
		 WHERE event = ?1 AND (?3 = 0 OR subscription IS NULL OR subscription IN (SELECT name FROM `+allNames+` WHERE id = ?3))
		 UNION ALL
		 SELECT a.at, a.actor, a.action, a.event, s.name, a.count, a.detail, a.id
		 FROM audit_deliveries t JOIN audit a ON a.id = t.audit JOIN subscriptions s ON s.id = t.subscription
		 WHERE t.seq = ?2 AND (?3 = 0 OR t.subscription = ?3) AND a.event IS NULL)
		ORDER BY id, subscription`, id[:], seq, subscription)
}

func auditEntries(c *conn, where string, args ...any) (entries []AuditEntry, err error) {
	return auditEntriesFrom(c, "audit"+where, args...)
}

func auditEntriesFrom(c *conn, from string, args ...any) (entries []AuditEntry, err error) {
	err = c.query(selectAudit+from, func(s *sqlite3.Stmt) error {
		entries = append(entries, auditEntry(s))
		return nil
	}, args...)
	return entries, err
}

func auditEntry(s *sqlite3.Stmt) AuditEntry {
	e := AuditEntry{
		At: timeOf(s, 0), Actor: s.ColumnText(1), Action: s.ColumnText(2), Subscription: s.ColumnText(4),
		Count: s.ColumnInt(5), Detail: s.ColumnText(6), ID: s.ColumnInt64(7),
	}
	if s.ColumnType(3) != sqlite3.NULL {
		e.Event = uuidOf(s, 3)
	}
	return e
}

const selectAudit = "SELECT at, actor, action, event, subscription, count, detail, id FROM "
