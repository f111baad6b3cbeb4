package sqlite

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// DeadLetter is a delivery that was given up.
type DeadLetter struct {
	engine.Record
	Subscription string
	Reason       string
	Failures     int
	DeadAt       time.Time
	Attempts     []engine.Attempt // all of them, oldest first
}

// DeadLetters are the dead letters of a file. It needs no bus, and works
// beside one that is running, in this process or another. It is not safe for
// concurrent use.
type DeadLetters struct {
	conn *conn
}

// OpenDeadLetters opens a file that exists.
func OpenDeadLetters(path string) (*DeadLetters, error) {
	c, err := connect(path, "", sqlite3.OPEN_READWRITE)
	if err != nil {
		return nil, err
	}
	empty, err := inspect(c)
	if err == nil && empty {
		err = &engine.StorageError{Fault: engine.Foreign, Op: "open", Path: path, Hint: "the file is empty; no bus was opened on it yet"}
	}
	if err == nil {
		err = c.setFull(true)
	}
	if err != nil {
		c.Close()
		return nil, storageError("open", path, err)
	}
	return &DeadLetters{conn: c}, nil
}

// Close releases the file.
func (d *DeadLetters) Close() error { return storageError("close", d.conn.path, d.conn.shut()) }

const selectDeadLetter = `
	SELECT d.seq, l.id, t.name, l.payload, l.metadata, l.created_at, s.name, d.reason, d.failures, d.dead_at, s.id
	FROM deliveries d
	JOIN log l ON l.seq = d.seq
	JOIN types t ON t.id = l.type
	JOIN subscriptions s ON s.id = d.subscription
	WHERE d.state = 'dead'`

// List returns dead letters, newest first.
func (d *DeadLetters) List(ctx context.Context, offset, limit int) (letters []DeadLetter, err error) {
	err = d.run(ctx, "list the dead letters of", func() error {
		letters, err = d.find(selectDeadLetter+" ORDER BY d.dead_at DESC, d.subscription DESC, d.seq DESC LIMIT ? OFFSET ?", limit, offset)
		return err
	})
	return letters, err
}

// Count returns how many dead letters there are.
func (d *DeadLetters) Count(ctx context.Context) (n int, err error) {
	err = d.run(ctx, "count the dead letters of", func() error {
		count, err := d.conn.int64("SELECT count(*) FROM deliveries WHERE state = 'dead'")
		n = int(count)
		return err
	})
	return n, err
}

// Get returns the dead letters of one event: one for each subscription that
// has given up on it.
func (d *DeadLetters) Get(ctx context.Context, id uuid.UUID) (letters []DeadLetter, err error) {
	err = d.run(ctx, "read a dead letter of", func() error {
		letters, err = d.find(selectDeadLetter+" AND l.id = ? ORDER BY s.id", id[:])
		return err
	})
	return letters, err
}

func (d *DeadLetters) find(sql string, args ...any) (letters []DeadLetter, err error) {
	var subscriptions []int64
	err = d.conn.query(sql, func(s *sqlite3.Stmt) error {
		letters = append(letters, DeadLetter{
			Record: engine.Record{
				Seq: s.ColumnInt64(0), ID: uuidOf(s, 1), Type: s.ColumnText(2), Payload: s.ColumnBlob(3, nil),
				Metadata: s.ColumnBlob(4, nil), CreatedAt: timeOf(s, 5),
			},
			Subscription: s.ColumnText(6), Reason: s.ColumnText(7), Failures: s.ColumnInt(8), DeadAt: timeOf(s, 9),
		})
		subscriptions = append(subscriptions, s.ColumnInt64(10))
		return nil
	}, args...)
	for i := range letters {
		if err != nil {
			return nil, err
		}
		letters[i].Attempts, err = d.attempts(letters[i].Seq, subscriptions[i])
	}
	return letters, err
}

func (d *DeadLetters) attempts(seq, subscription int64) (attempts []engine.Attempt, err error) {
	err = d.conn.query(`
		SELECT kind, started_at, ended_at, error, stack FROM attempts
		WHERE seq = ? AND subscription = ? ORDER BY n`, func(s *sqlite3.Stmt) error {
		a := engine.Attempt{Kind: s.ColumnText(0), Ended: timeOf(s, 2), Error: s.ColumnText(3), Stack: s.ColumnText(4)}
		if s.ColumnType(1) != sqlite3.NULL {
			a.Started = timeOf(s, 1)
		}
		attempts = append(attempts, a)
		return nil
	}, seq, subscription)
	return attempts, err
}

// Retry makes a dead delivery due now with a fresh count of attempts; those it
// has behind it stay on record. It reports false when there is no such dead
// letter.
func (d *DeadLetters) Retry(ctx context.Context, id uuid.UUID, subscription string) (found bool, err error) {
	err = d.run(ctx, "retry a dead letter of", func() error {
		return d.conn.transaction(true, func() error {
			err := d.conn.exec(`
				UPDATE deliveries SET state = 'waiting', failures = 0, crashed = 0, due_at = ?, dead_at = NULL, reason = NULL
				WHERE state = 'dead'
				  AND subscription = (SELECT id FROM subscriptions WHERE name = ?)
				  AND seq = (SELECT seq FROM log WHERE id = ?)`, time.Now(), subscription, id[:])
			found = d.conn.Changes() > 0
			return err
		})
	})
	return found, err
}

// Purge deletes the dead letters that died at or before cutoff, with their
// attempts, and returns how many there were. It works in small transactions so
// that nobody waits for long.
func (d *DeadLetters) Purge(ctx context.Context, cutoff time.Time) (purged int, err error) {
	const step = 500
	for {
		n := 0
		err := d.run(ctx, "purge the dead letters of", func() error {
			return d.conn.transaction(true, func() (err error) {
				n, err = d.purge(cutoff, step)
				return err
			})
		})
		if err != nil {
			return purged, err
		}
		purged += n
		if n < step {
			return purged, nil
		}
	}
}

func (d *DeadLetters) purge(cutoff time.Time, limit int) (n int, err error) {
	type key struct{ seq, subscription int64 }
	var keys []key
	err = d.conn.query(`
		SELECT seq, subscription FROM deliveries WHERE state = 'dead' AND dead_at <= ?
		ORDER BY dead_at LIMIT ?`, func(s *sqlite3.Stmt) error {
		keys = append(keys, key{s.ColumnInt64(0), s.ColumnInt64(1)})
		return nil
	}, cutoff, limit)
	for _, k := range keys {
		if err != nil {
			return 0, err
		}
		if err = d.conn.exec("DELETE FROM attempts WHERE seq = ? AND subscription = ?", k.seq, k.subscription); err == nil {
			err = d.conn.exec("DELETE FROM deliveries WHERE seq = ? AND subscription = ?", k.seq, k.subscription)
		}
	}
	return len(keys), err
}

// run interrupts f when ctx ends.
func (d *DeadLetters) run(ctx context.Context, op string, f func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	old := d.conn.SetInterrupt(ctx)
	defer d.conn.SetInterrupt(old)
	err := f()
	if ctx.Err() != nil && err != nil {
		return ctx.Err()
	}
	return storageError(op, d.conn.path, err)
}
