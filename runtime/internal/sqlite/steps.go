package sqlite

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
	"github.com/busgen/busgen/runtime/internal/sqlite/tables"
)

// A step that a handler has done is a row of its own. It is written in the transaction of the writer that comes next,
// beside the events of publishers and the steps of others, and is on disk before the handler is told. The row of the
// delivery, if there is one, loses its failures in the same transaction.
//
// What a consumer knows of a delivery is written in later transactions, also by a turn that ends while the step is being
// written. So it knows that the delivery has stored a step as soon as the step is part of a transaction. If that fails,
// the delivery is as it was.

// StoreStep implements [engine.StepKeeper].
func (l *Log) StoreStep(ctx context.Context, s *engine.Stepping) error {
	r := l.writer.newRequest()
	defer l.writer.free(r)
	r.step, r.full = s, true
	err := l.writer.submit(ctx, r)
	if r.refused != nil || err == engine.ErrClosed || err != nil && err == ctx.Err() {
		return err
	}
	return fault.Wrap("write", l.path, err)
}

// step writes the step of a request.
func (b *batch) step(r *request) error {
	var err error
	r.refused, err = b.storeStep(r.step)
	return err
}

// storeStep writes a step, unless it refuses that for itself: with ErrMoved if the attempt that has done it is over.
func (b *batch) storeStep(s *engine.Stepping) (refused, err error) {
	c, step := s.Consumer.(*consumer), &s.Step
	own := c.mayStep(s.Delivery)
	if own == nil {
		return engine.ErrMoved, nil
	}
	if len(s.Unless) > 0 {
		if there, err := b.awaits.mayBeThere(b, s.Unless); err != nil || there {
			return engine.ErrAwaited, err
		}
	}
	err = putStep(b.conn, tables.RowKey{Subscription: c.id, Seq: own.Seq}, int(own.Run), step)
	if err == nil && b.conn.Changes() == 0 { // it was not found before, which is a fault of the bus
		return fmt.Errorf("step %q is stored already", step.Name), nil
	}
	if err != nil {
		return nil, err
	}
	if c.setStepped(own, true) {
		b.stepping = append(b.stepping, stepped{c, own})
	}
	if own.Failures == 0 && own.MaxAttempts == 0 && !own.Suspect {
		return nil, nil
	}
	return nil, b.conn.Exec(noteProgress, c.id, own.Seq)
}

// putStep writes the row of a step.
func putStep(c *database.Conn, at tables.RowKey, run int, step *engine.Step) error {
	return c.Exec(insertStepRow, at.Seq, at.Subscription, run, step.Member, step.Name, string(step.Kind), tables.Text(string(step.Result)), tables.Text(step.Shape),
		step.Undoes, step.Attempt, step.Started, step.At, place(step.Event))
}

const (
	insertStepRow = `
	INSERT INTO busgen_steps (seq, subscription, run, member, name, kind, result, shape, undoes, attempt, started_at, at, event)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
	ON CONFLICT DO UPDATE SET kind = excluded.kind, result = excluded.result, shape = excluded.shape, attempt = excluded.attempt, at = excluded.at,
		event = excluded.event WHERE kind = 'await'`
	// noteProgress is Stored of package ledger.
	noteProgress = `
	UPDATE busgen_deliveries SET uncounted = uncounted + failures, failures = 0, max_attempts = NULL, suspect = 0, crashed = 0
	WHERE subscription = ? AND seq = ?`
)

// place is NULL for 0.
func place(seq int64) any {
	if seq == 0 {
		return nil
	}
	return seq
}

// stepped is a delivery of which the transaction at hand stores the first step of its attempt.
type stepped struct {
	consumer *consumer
	*delivery
}

// mayStep returns the delivery of which an attempt stores a step; nil if it is not the consumer's any more, or is settled.
func (c *consumer) mayStep(d *engine.Delivery) *delivery {
	c.mu.Lock()
	defer c.mu.Unlock()
	own := d.Token.(*delivery)
	if c.ended || c.replaced || own.settled {
		return nil
	}
	if own.Seq > c.ground.steps.highest.Load() {
		c.ground.steps.highest.Store(own.Seq) // here is who has the writer's turn
	}
	return own
}

// setStepped says whether the attempt at a delivery has stored a step, and reports whether that is new.
func (c *consumer) setStepped(own *delivery, stepped bool) (changed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	changed = own.stepped != stepped
	own.stepped = stepped
	return changed
}

// unstep makes deliveries what they were before a transaction that has failed.
func (b *batch) unstep() {
	for _, one := range b.stepping {
		one.consumer.setStepped(one.delivery, false)
	}
	b.stepping = emptied(b.stepping)
}

// seen is what a turn knows of a delivery.
func (d *delivery) seen() ledger.Delivery {
	seen := ledger.Seen(&d.Delivery)
	if d.stepped {
		seen = seen.Stored()
	}
	return seen
}

// Steps implements [engine.StepKeeper].
func (l *Log) Steps(of engine.Consumer, d *engine.Delivery) (steps []engine.Step, err error) {
	c := of.(*consumer)
	if d.Failures+d.Uncounted == 0 && !d.Undoing && d.Seq > max(c.stepsEnd, l.steps.found.Load()) {
		return nil, nil // nobody has begun it before
	}
	err = l.read(func(conn *database.Conn) error {
		return conn.Query(`
			SELECT member, name, kind, result, shape, attempt, started_at, at, undoes, event FROM busgen_steps
			WHERE seq = ? AND subscription = ? AND run = ?`, func(s *sqlite3.Stmt) error {
			steps = append(steps, engine.Step{
				Member: s.ColumnText(0), Name: s.ColumnText(1), Kind: engine.StepKind(s.ColumnText(2)), Result: s.ColumnBlob(3, nil), Shape: s.ColumnText(4),
				Attempt: s.ColumnInt(5), Started: database.Time(s, 6), At: database.Time(s, 7), Undoes: s.ColumnBool(8), Event: s.ColumnInt64(9),
			})
			return nil
		}, d.Seq, c.id, int64(d.Run))
	})
	return steps, fault.Wrap("read", l.path, err)
}

// stepsKnown says behind which event none has steps but those that its first attempt has stored. A first attempt reads
// no steps there. Elsewhere it may find some: a power cut may have taken the record that an attempt has begun, and left
// the steps that it had stored; or another consumer had the delivery before.
type stepsKnown struct {
	found   atomic.Int64 // the last event with steps when this process took over
	highest atomic.Int64 // the last event of which this process has stored one
}

func (k *stepsKnown) learn(c *database.Conn) error {
	last, err := c.Int64("SELECT coalesce(max(seq), 0) FROM busgen_steps")
	k.found.Store(last)
	return err
}

// readSteps reads what the handler of a delivery has stored, in all runs.
func readSteps(c *database.Conn, at tables.RowKey, of *event.DeliveryState) error {
	err := c.Query("SELECT run, suspended, undoing FROM busgen_deliveries WHERE seq = ? AND subscription = ?", func(s *sqlite3.Stmt) error {
		of.Run, of.Suspended, of.Undoing = s.ColumnInt(0), s.ColumnBool(1), s.ColumnBool(2)
		return nil
	}, at.Seq, at.Subscription)
	if err != nil {
		return err
	}
	err = c.Query(`
		SELECT run, member, name, kind, result, undoes, attempt, started_at, at FROM busgen_steps
		WHERE seq = ? AND subscription = ? ORDER BY run, at, started_at, name`, func(s *sqlite3.Stmt) error {
		one := event.Step{
			Run: s.ColumnInt(0), Member: s.ColumnText(1), Name: s.ColumnText(2), Kind: s.ColumnText(3), Result: s.ColumnBlob(4, nil), Undoes: s.ColumnBool(5),
			Attempt: s.ColumnInt(6), Started: database.Time(s, 7), At: database.Time(s, 8),
		}
		if one.Bytes = len(one.Result); one.Bytes == 0 {
			one.Result = nil
		}
		of.Steps, of.Run = append(of.Steps, one), max(of.Run, one.Run)
		return nil
	}, at.Seq, at.Subscription)
	if err != nil || !of.Suspended {
		return err
	}
	return c.Query(`
		SELECT w.member, w.name, a.type FROM busgen_waits w JOIN busgen_awaited a ON a.id = w.type
		WHERE w.seq = ? AND w.subscription = ? AND a.type IS NOT NULL GROUP BY 1, 2, 3 ORDER BY 3`, func(s *sqlite3.Stmt) error {
		for i := range of.Steps {
			if one := &of.Steps[i]; one.Run == of.Run && one.Member == s.ColumnText(0) && one.Name == s.ColumnText(1) {
				one.Awaits = append(one.Awaits, s.ColumnText(2))
			}
		}
		return nil
	}, at.Seq, at.Subscription)
}
