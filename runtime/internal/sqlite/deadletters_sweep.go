package sqlite

import (
	"context"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// LetterChange is what an operator does to dead letters.
type LetterChange string

// The changes. Their texts are the actions of the audit.
const (
	RetryLetters   LetterChange = "retry"   // due now, with a fresh count of attempts; those behind stay on record
	DiscardLetters LetterChange = "discard" // settled without having been handled
	PurgeLetters   LetterChange = "purge"   // forgotten, with their attempts
)

// Sweep is a change to many dead letters, from the one that died first to the
// one that died last before it began. It goes in steps, each of which is one
// transaction: nobody has to wait for long, and whenever it ends, every letter
// was changed once or not at all.
type Sweep struct {
	Matched int // how many letters there were to change when it began

	filter LetterFilter
	change LetterChange
	reason string // of DiscardLetters
	mark   LetterMark
	ledger ledger
}

// Sweep begins a change. What dies, or dies again, after that is not part of
// it. The audit has one entry for all steps.
func (d *DeadLetters) Sweep(ctx context.Context, f LetterFilter, change LetterChange, reason string, entry AuditEntry) (*Sweep, error) {
	entry.Action = string(change)
	s := &Sweep{filter: f, change: change, reason: reason, ledger: ledger{AuditEntry: entry}}
	if len(f.Keys) == 1 {
		s.ledger.Event, s.ledger.Subscription = f.Keys[0].Event, f.Keys[0].Subscription
	}
	err := d.look(ctx, "count the dead letters of", func() (err error) {
		s.Matched, s.filter.Until, err = d.count(f)
		return err
	})
	return s, err
}

// Spare makes the next steps pass over letters whose last attempt has ended the
// process, or else begins anew, with those.
func (s *Sweep) Spare(harmful bool) { s.filter.Harmless, s.mark = harmful, LetterMark{} }

// Step changes up to limit letters, and returns which.
func (d *DeadLetters) Step(ctx context.Context, s *Sweep, limit int) (changed []LetterKey, err error) {
	var last LetterMark
	err = d.change(ctx, string(s.change)+" dead letters of", func() error {
		var marks []LetterMark
		if changed, marks, err = d.next(s, limit); err != nil {
			return err
		}
		for _, m := range marks {
			if err := s.apply(d.conn, m); err != nil {
				return err
			}
			last = m
		}
		if err := s.ledger.add(d.conn, len(marks)); err != nil {
			return err
		}
		return s.ledger.touch(d.conn, marks)
	})
	if err != nil || len(changed) == 0 {
		return nil, err
	}
	s.mark = last
	s.ledger.committed()
	return changed, nil
}

// next returns the letters that are changed next.
func (d *DeadLetters) next(s *Sweep, limit int) (keys []LetterKey, marks []LetterMark, err error) {
	w, err := s.filter.condition(d.conn)
	if err != nil {
		return nil, nil, err
	}
	w.from(s.mark, true)
	w.args = append(w.args, limit)
	err = d.conn.query(`SELECT l.id, s.name, d.dead_at, d.subscription, d.seq
		FROM (SELECT *`+dead+w.sql.String()+order(true)+" LIMIT ?) d"+known+order(true), func(s *sqlite3.Stmt) error {
		keys = append(keys, LetterKey{Event: uuidOf(s, 0), Subscription: s.ColumnText(1)})
		marks = append(marks, LetterMark{DeadAt: timeOf(s, 2), Subscription: s.ColumnInt64(3), Seq: s.ColumnInt64(4)})
		return nil
	}, w.args...)
	return keys, marks, err
}

func (s *Sweep) apply(c *conn, m LetterMark) error {
	switch s.change {
	case RetryLetters:
		return revive(c, m.Subscription, m.Seq, true)
	case DiscardLetters:
		return discard(c, m.Subscription, m.Seq, s.reason)
	default: // PurgeLetters
		return forget(c, m.Subscription, m.Seq)
	}
}

// revive makes a dead delivery due now, with a fresh count of attempts; those
// it has behind it stay on record. One whose last attempt has ended with the
// process still runs alone. By hand, the count of automatic redrives begins
// again as well; else this is one of them.
func revive(c *conn, subscription, seq int64, byHand bool) error {
	now := time.Now()
	if err := noteRedriven(c, subscription, seq, now); err != nil {
		return err
	}
	return c.exec(`
		UPDATE deliveries SET state = 'waiting', uncounted = uncounted + failures, failures = 0, max_attempts = NULL,
			crashed = 0, due_at = ?1, dead_at = NULL, reason = NULL,
			fingerprint = NULL, since = ?1, redriven = iif(?4, 0, redriven + 1), wait = 0, snoozes = 0
		WHERE state = 'dead' AND subscription = ?2 AND seq = ?3`, now, subscription, seq, byHand)
}

// forget deletes a dead delivery and its attempts.
func forget(c *conn, subscription, seq int64) error {
	for _, kept := range []string{
		"DELETE FROM attempts WHERE seq = ? AND subscription = ?", "DELETE FROM outcomes WHERE seq = ? AND subscription = ?",
		"DELETE FROM crashes WHERE seq = ? AND subscription = ?",
	} {
		if err := c.exec(kept, seq, subscription); err != nil {
			return err
		}
	}
	return c.exec("DELETE FROM deliveries WHERE subscription = ? AND seq = ?", subscription, seq)
}

// LetterState is what became of a letter that was retried.
type LetterState int

// The states.
const (
	LetterSettled LetterState = iota // handled or discarded
	LetterOpen                       // it has yet to be handled
	LetterDead                       // it died again
)

// States returns what became of letters, in their order.
func (d *DeadLetters) States(ctx context.Context, keys []LetterKey) (states []LetterState, err error) {
	err = d.look(ctx, "read the deliveries of", func() error {
		for _, k := range keys {
			state := LetterSettled
			err := d.conn.query(`
				SELECT d.state FROM deliveries d
				WHERE d.subscription = `+subscriptionNamed+` AND d.seq = (SELECT seq FROM log WHERE id = ?2)`,
				func(s *sqlite3.Stmt) error {
					if state = LetterOpen; s.ColumnText(0) == rowDead {
						state = LetterDead
					}
					return nil
				}, k.Subscription, k.Event[:])
			if err != nil {
				return err
			}
			states = append(states, state)
		}
		return nil
	})
	return states, err
}
