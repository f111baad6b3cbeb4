package sqlite

import (
	"bytes"
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// LetterImport adds dead letters that come from another file, or from an
// earlier time of this one, in transactions of a bounded size.
type LetterImport struct {
	Added, Skipped int
	ledger         ledger
}

// ImportLetters begins an import. The audit has one entry for all of it.
func (d *DeadLetters) ImportLetters(entry AuditEntry) *LetterImport {
	entry.Action = "import"
	return &LetterImport{ledger: ledger{AuditEntry: entry}}
}

// Add adds the letters that are not there, in one transaction. Those that
// cannot be added end it: bad is the place of the first, or -1, and problem says
// what is wrong with it. The ones before it are added.
func (d *DeadLetters) Add(ctx context.Context, i *LetterImport, letters []DeadLetter) (bad int, problem string, err error) {
	added, skipped := 0, 0
	err = d.change(ctx, "import dead letters into", func() error {
		added, skipped, bad = 0, 0, -1
		for n := range letters {
			ok, wrong, err := addLetter(d.conn, &letters[n])
			switch {
			case err != nil:
				return err
			case wrong != "":
				bad, problem = n, wrong
				return i.ledger.add(d.conn, added)
			case ok:
				added++
			default:
				skipped++
			}
		}
		return i.ledger.add(d.conn, added)
	})
	if err != nil {
		return -1, "", err
	}
	i.ledger.committed()
	i.Added, i.Skipped = i.Added+added, i.Skipped+skipped
	return bad, problem, nil
}

// addLetter adds one dead letter, unless its delivery is open, dead, discarded
// or handled already.
func addLetter(c *conn, l *DeadLetter) (added bool, wrong string, err error) {
	subscription, err := c.int64("SELECT "+subscriptionNamed, l.Subscription)
	if err != nil {
		return false, "", err
	}
	if subscription == 0 {
		return false, fmt.Sprintf("the file has no subscription %q: subscribe it first, or declare it in the catalogue", l.Subscription), nil
	}
	seq, wrong, err := storedEvent(c, l)
	if wrong != "" || err != nil {
		return false, wrong, err
	}
	if seq == 0 {
		seq, err = appendFor(c, specialEvent{
			id: l.Event, typeKey: typeKey{l.Type, l.Version}, payload: l.Payload, metadata: l.Metadata, createdAt: l.CreatedAt,
			subscription: subscription, parent: uuid.Nil,
		})
	} else {
		var known int64
		known, err = c.int64(`
			SELECT EXISTS (SELECT 1 FROM deliveries WHERE subscription = ?1 AND seq = ?2)
			    OR EXISTS (SELECT 1 FROM attempts WHERE subscription = ?1 AND seq = ?2)
			    OR EXISTS (SELECT 1 FROM discarded WHERE subscription = ?1 AND seq = ?2)
			    OR EXISTS (SELECT 1 FROM log l JOIN subscriptions s ON s.id = ?1 WHERE l.seq = ?2 AND l.due_at IS NULL AND l.seq > s.cursor)`,
			subscription, seq)
		if known != 0 {
			return false, "", err
		}
	}
	if err != nil {
		return false, "", err
	}
	return true, "", addRows(c, subscription, seq, l)
}

// storedEvent returns the place of a letter's event in the log, or 0. That the
// file has another event with the same id is wrong.
func storedEvent(c *conn, l *DeadLetter) (seq int64, wrong string, err error) {
	err = c.query(`
		SELECT l.seq, t.name = ?2 OR EXISTS (SELECT 1 FROM types o WHERE o.written = ?2 AND o.name = t.name), l.payload
		FROM log l JOIN types t ON t.id = l.type WHERE l.id = ?1`, func(s *sqlite3.Stmt) error {
		if !s.ColumnBool(1) || !bytes.Equal(s.ColumnRawText(2), l.Payload) {
			wrong = fmt.Sprintf("the file has event %s with another type or payload", l.Event)
		}
		seq = s.ColumnInt64(0)
		return nil
	}, l.Event[:], l.Type)
	return seq, wrong, err
}

// addRows writes a dead delivery and its attempts.
func addRows(c *conn, subscription, seq int64, l *DeadLetter) error {
	err := c.exec(`
		INSERT INTO deliveries (subscription, seq, state, failures, dead_at, reason, fingerprint, progress, redriven, uncounted, suspect)
		VALUES (?, ?, 'dead', ?, ?, ?, ?, ?, ?, ?, ?)`,
		subscription, seq, l.Failures, l.Mark.DeadAt, l.Reason, l.Fingerprint, text(l.Progress), l.Redriven,
		max(len(l.Attempts)-l.Failures, 0), l.crashed())
	for _, a := range l.Attempts {
		if err == nil {
			err = addAttempt(c, subscription, seq, a)
		}
	}
	return err
}

// crashed tells whether the last attempt has ended with its process.
func (l *DeadLetter) crashed() bool {
	return len(l.Attempts) > 0 && l.Attempts[len(l.Attempts)-1].Kind == engine.KindCrash
}

func addAttempt(c *conn, subscription, seq int64, a engine.FailedAttempt) error {
	var started any
	if !a.Started.IsZero() {
		started = a.Started
	}
	return c.exec(insertAttempt, seq, subscription, a.Kind, started, a.Ended, a.Error, text(a.ErrorType), text(a.Member), text(a.Stack))
}
