package sqlite

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
	"github.com/busgen/busgen/runtime/internal/sqlite/locks"
	"github.com/busgen/busgen/runtime/internal/sqlite/tables"
)

// Whoever cancels an event writes its open deliveries into the table cancelled, in one
// transaction, and wants to know of each whether it was begun before that. Who can tell:
//
//   - The log of this process, if it dispatches: it marks them, and looks at what its
//     workers are at.
//   - Another process that dispatches. It finds the rows within 200 ms, does the same, and
//     sets their column answer. A row that is gone is an answer too: it is settled.
//   - Nobody, if no process dispatches after the transaction: then no handler runs, and the
//     next process knows what is cancelled before it begins.
//
// What has become of them is then in the file.

// The values of cancelled.answer, besides NULL: nobody has asked.
const (
	notAnswered = "0"
	answerNone  = 1 // no attempt runs, and none begins
	answerBegun = 2 // an attempt runs
)

// askDelay is how often an answer is looked for.
const askDelay = 20 * time.Millisecond

// askedRow is a cancelled delivery, about which somebody asks.
type askedRow struct {
	tables.RowKey
	name     string
	reason   string // of its discard
	attempts int    // that had failed before
	begun    bool
}

// canceller is a connection to a file through which events are cancelled.
type canceller struct {
	path      string
	change    func(ctx context.Context, f func(c *database.Conn) error) error // in a transaction that is on disk afterwards
	look      func(ctx context.Context, f func(c *database.Conn) error) error
	named     func(id int64, name string) string
	consumers *consumers // of the same process; nil without
}

// owned reports whether a process dispatches.
func (c *canceller) owned() (bool, error) {
	if c.consumers != nil && (c.consumers.owns.Load() || !c.consumers.claims.Shared()) {
		return c.consumers.owns.Load(), nil
	}
	return locks.IsOwned(c.path)
}

// Cancel implements [engine.Canceller].
func (cs *consumers) Cancel(ctx context.Context, spec engine.Cancellation) ([]string, error) {
	c := canceller{
		path: cs.path, change: cs.writer.doSynced, named: cs.nameOf, consumers: cs,
		look: func(_ context.Context, f func(c *database.Conn) error) error { return cs.read(f) },
	}
	cancelled, err := c.cancel(ctx, spec)
	cs.waiters.all()
	return cancelled, fault.Wrap("cancel an event in", cs.path, err)
}

// Cancel implements [engine.Canceller].
func (i *Inspection) Cancel(ctx context.Context, spec engine.Cancellation) ([]string, error) {
	if spec.Unasked {
		return i.discard(ctx, spec)
	}
	const op = "cancel an event in"
	c := canceller{
		change: func(ctx context.Context, f func(c *database.Conn) error) error { return i.change(ctx, op, f) },
		look:   func(ctx context.Context, f func(c *database.Conn) error) error { return i.look(ctx, op, f) },
		named:  func(_ int64, name string) string { return name },
	}
	err := c.look(ctx, func(conn *database.Conn) error { // before the file is opened for writing
		c.path = conn.Path
		_, _, err := findCancellable(conn, spec.Event, spec.Subscription)
		return err
	})
	if err != nil {
		return nil, err
	}
	return c.cancel(ctx, spec)
}

func (c *canceller) cancel(ctx context.Context, spec engine.Cancellation) ([]string, error) {
	var asked []askedRow
	err := c.change(ctx, func(conn *database.Conn) (err error) {
		asked, err = ask(conn, spec)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := c.await(ctx, spec.Event, asked); err != nil {
		return nil, err
	}
	return c.became(spec.Event, asked)
}

// findCancellable returns the position of an event, and the subscription if one is named.
func findCancellable(conn *database.Conn, id uuid.UUID, name string) (seq int64, only tables.KnownSubscription, err error) {
	if name != "" {
		if only, err = requireSubscription(conn, name); err != nil {
			return 0, only, err
		}
	}
	seq, err = conn.Int64("SELECT coalesce(max(seq), 0) FROM busgen_log WHERE id = ?", id[:])
	if err == nil && seq == 0 {
		err = &event.NotFoundError{Thing: "event", Name: id.String()}
	}
	return seq, only, err
}

// ask notes that the open deliveries of an event are cancelled, and returns them.
func ask(conn *database.Conn, spec engine.Cancellation) (asked []askedRow, err error) {
	seq, only, err := findCancellable(conn, spec.Event, spec.Subscription)
	if err != nil {
		return nil, err
	}
	if err := forgetSettled(conn); err != nil {
		return nil, err
	}
	all, err := readDeliveries(conn, seq)
	if err != nil {
		return nil, err
	}
	settled := &event.NotOpenError{Event: spec.Event}
	for _, d := range all {
		if only.ID != 0 && d.subscription != only.ID {
			continue
		}
		if !d.open() && !d.cancelled {
			settled.States = append(settled.States, d.Subscription+" "+d.State)
			continue
		}
		one := askedRow{RowKey: tables.RowKey{Subscription: d.subscription, Seq: seq}, name: d.Subscription, reason: spec.Reason, attempts: d.Failures}
		if d.cancelled {
			one.reason = d.reason
		} else if spec.Actor != "" {
			err := tables.Audit(conn, event.AuditEntry{
				Actor: spec.Actor, Action: "cancel", EventID: spec.Event, Subscription: d.Subscription, Count: 1,
			})
			if err != nil {
				return nil, err
			}
		}
		if err := cancelDelivery(conn, one.RowKey, spec.Reason, true); err != nil {
			return nil, err
		}
		asked = append(asked, one)
	}
	if len(asked) == 0 {
		return nil, settled
	}
	return asked, nil
}

// await returns when it is clear which of the deliveries were begun, or with an
// *UnansweredError. What is cancelled stays so.
func (c *canceller) await(ctx context.Context, id uuid.UUID, asked []askedRow) error {
	began := time.Now()
	for {
		if c.consumers != nil && c.consumers.owns.Load() {
			if err := c.consumers.decide(asked); err != nil {
				return err
			}
		}
		// Before the answers: if nobody dispatches now, those of the last owner are final.
		owned, err := c.owned()
		if err != nil {
			return err
		}
		answered, pid := false, 0
		err = c.look(context.WithoutCancel(ctx), func(conn *database.Conn) (err error) {
			answered, pid, err = readAnswers(conn, asked)
			return err
		})
		switch waited := time.Since(began); {
		case err != nil:
			return err
		case answered || !owned:
			return nil
		case ctx.Err() != nil:
			return &event.UnansweredError{ID: id, PID: pid, Waited: waited, Err: ctx.Err()}
		case waited >= engine.CancelPatience:
			return &event.UnansweredError{ID: id, PID: pid, Waited: waited}
		}
		select {
		case <-time.After(askDelay):
		case <-ctx.Done():
		}
	}
}

// readAnswers reads what the process that dispatches has said.
func readAnswers(conn *database.Conn, asked []askedRow) (all bool, pid int, err error) {
	all = true
	for i := range asked {
		one := &asked[i]
		found := false
		err := conn.Query("SELECT answer FROM busgen_cancelled WHERE seq = ? AND subscription = ?", func(s *sqlite3.Stmt) error {
			found = true
			all = all && s.ColumnInt(0) != 0
			one.begun = one.begun || s.ColumnInt(0) == answerBegun
			return nil
		}, one.Seq, one.Subscription)
		if err != nil {
			return false, 0, err
		}
		if found || one.begun {
			continue
		}
		// It is settled. An attempt that has failed meanwhile was begun.
		failed, err := conn.Int64("SELECT count(*) FROM busgen_attempts WHERE seq = ? AND subscription = ?", one.Seq, one.Subscription)
		if err != nil {
			return false, 0, err
		}
		one.begun = int(failed) > one.attempts
	}
	owner, err := readOwner(conn)
	return all, owner.PID, err
}

// decide finds out which deliveries were begun, in the process that dispatches, and writes
// the answers.
func (cs *consumers) decide(asked []askedRow) error {
	ctx := context.Background() // nothing here waits for anybody else for long
	var found []askedRow
	err := cs.writer.do(ctx, func(conn *database.Conn) (err error) {
		found, _, err = cs.readCancelled(conn)
		cs.findBegun(asked)
		return err
	})
	if err != nil {
		return err
	}
	return cs.answer(ctx, found)
}

// answer sets the answers of rows, after what is settled in memory was written. The rows of
// settled deliveries it removes.
func (cs *consumers) answer(ctx context.Context, asked []askedRow) error {
	if err := cs.Flush(ctx); err != nil {
		return err
	}
	err := cs.writer.do(ctx, func(conn *database.Conn) error {
		if !cs.owns.Load() {
			return nil
		}
		if err := forgetSettled(conn); err != nil {
			return err
		}
		for _, one := range asked {
			answer := answerNone
			if one.begun {
				answer = answerBegun
			}
			err := conn.Exec("UPDATE busgen_cancelled SET answer = ? WHERE seq = ? AND subscription = ? AND answer = "+notAnswered,
				answer, one.Seq, one.Subscription)
			if err == nil {
				err = hastenCancelled(conn, one.RowKey)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	cs.recheck()
	return err
}

// became says what has become of deliveries that were cancelled or begun.
func (c *canceller) became(id uuid.UUID, asked []askedRow) (cancelled []string, err error) {
	settled, begun := &event.NotOpenError{Event: id}, &event.BegunError{ID: id}
	err = c.look(context.Background(), func(conn *database.Conn) error {
		all, err := readDeliveries(conn, asked[0].Seq)
		states := map[int64]deliveryState{}
		for _, d := range all {
			states[d.subscription] = d
		}
		for _, one := range asked {
			d, name := states[one.Subscription], c.named(one.Subscription, one.name)
			switch {
			case one.begun:
				begun.Running = append(begun.Running, name)
			case d.State == event.StateDiscarded && d.Reason == one.reason,
				d.State == event.StateRunning && d.cancelled: // its process has died since
				cancelled = append(cancelled, name)
			default:
				settled.States = append(settled.States, name+" "+d.State)
			}
		}
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case len(begun.Running) > 0:
		begun.Cancelled = cancelled
		return cancelled, begun
	case len(cancelled) == 0:
		return nil, settled
	}
	return cancelled, nil
}
