package main

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"time"
)

// outbox is what a programmer writes with database/sql in an afternoon: a table, an INSERT, and
// a loop that reads what is not done. There are no retries, no subscriptions, no dead letters.
type outbox struct {
	db      *sql.DB
	insert  *sql.Stmt // prepared if the outbox is tuned
	s       setup
	added   chan struct{} // something was inserted; the default looks ten times a second instead
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// outboxBatch is how many rows a look takes.
const outboxBatch = 100

func openOutbox(ctx context.Context, path string, s setup) (system, error) {
	db, err := openDatabase(mattn, path, 1)
	if err != nil {
		return nil, err
	}
	_, err = db.ExecContext(ctx, `
		CREATE TABLE IF NOT EXISTS outbox (
			id      INTEGER PRIMARY KEY,
			payload BLOB NOT NULL,
			created INTEGER NOT NULL,
			done    INTEGER
		);
		CREATE INDEX IF NOT EXISTS outbox_open ON outbox (id) WHERE done IS NULL`)
	if err != nil {
		return nil, err
	}
	o := &outbox{db: db, s: s, added: make(chan struct{}, 1)}
	if s.tuned {
		o.insert, err = db.PrepareContext(ctx, outboxInsert)
	}
	return o, err
}

const outboxInsert = "INSERT INTO outbox (payload, created) VALUES (?, ?)"

func (o *outbox) publish(ctx context.Context, number int64) error {
	data, err := encoded(number)
	if err != nil {
		return err
	}
	if o.s.tuned {
		_, err = o.insert.ExecContext(ctx, data, time.Now().UnixMicro())
	} else {
		_, err = o.db.ExecContext(ctx, outboxInsert, data, time.Now().UnixMicro())
	}
	if err != nil {
		return err
	}
	select {
	case o.added <- struct{}{}:
	default:
	}
	return nil
}

func (o *outbox) start(ctx context.Context) error {
	ctx, o.cancel = context.WithCancel(ctx)
	o.running.Go(func() {
		poll := time.NewTicker(100 * time.Millisecond)
		defer poll.Stop()
		added := o.added
		if !o.s.tuned {
			added = nil
		}
		for ctx.Err() == nil {
			if n, err := o.look(ctx); err == nil && n == outboxBatch {
				continue
			}
			select {
			case <-added:
			case <-poll.C:
			case <-ctx.Done():
			}
		}
	})
	return nil
}

// look handles a batch: one row after the other, or all at once if the outbox is tuned.
func (o *outbox) look(ctx context.Context) (n int, err error) {
	rows, err := o.db.QueryContext(ctx, "SELECT id, payload FROM outbox WHERE done IS NULL ORDER BY id LIMIT ?", outboxBatch)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	var ids []int64
	var payloads [][]byte
	for rows.Next() {
		var id int64
		var data []byte
		if err := rows.Scan(&id, &data); err != nil {
			return 0, err
		}
		ids, payloads = append(ids, id), append(payloads, data)
	}
	if err := rows.Err(); err != nil || len(ids) == 0 {
		return 0, err
	}
	rows.Close()
	if !o.s.tuned {
		for i, id := range ids {
			if err := o.handle(ctx, payloads[i]); err != nil {
				continue // at the next look again
			}
			if err := o.done(ctx, id); err != nil {
				return len(ids), err
			}
		}
		return len(ids), nil
	}
	ok := make([]bool, len(ids))
	var handlers sync.WaitGroup
	for i := range ids {
		handlers.Go(func() { ok[i] = o.handle(ctx, payloads[i]) == nil })
	}
	handlers.Wait()
	var done []int64
	for i, id := range ids {
		if ok[i] {
			done = append(done, id)
		}
	}
	return len(ids), o.done(ctx, done...)
}

func (o *outbox) handle(ctx context.Context, data []byte) error {
	number, err := decoded(data)
	if err != nil {
		return err
	}
	return o.s.handle(ctx, 0, number)
}

// done is one synced commit for all ids.
func (o *outbox) done(ctx context.Context, ids ...int64) error {
	if len(ids) == 0 {
		return nil
	}
	args := []any{time.Now().UnixMicro()}
	for _, id := range ids {
		args = append(args, id)
	}
	places := strings.TrimSuffix(strings.Repeat("?,", len(ids)), ",")
	_, err := o.db.ExecContext(ctx, fmt.Sprintf("UPDATE outbox SET done = ? WHERE id IN (%s)", places), args...)
	return err
}

func (o *outbox) close() error {
	if o.cancel != nil {
		o.cancel()
		o.running.Wait()
	}
	return o.db.Close()
}

func multiplyOutbox(ctx context.Context, path string, n int) error {
	return copyRow(ctx, path, "outbox", n, map[string]string{"id": ""})
}
