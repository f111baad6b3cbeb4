package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/retry"
)

// agedEvents is how many settled events of a file are older than the retention.
const agedEvents = 1000

// growNothing makes a file with agedEvents handled events.
func growNothing(ctx context.Context, path string, _ int) error {
	return growEvents(ctx, path, agedEvents)
}

// growEvents fills the file until that many events were handled.
func growEvents(ctx context.Context, path string, size int) error {
	there, err := eventsIn(path)
	if err == nil && there < size {
		_, err = fill(ctx, path, size-there, true, 0)
	}
	if err != nil {
		return err
	}
	return change(path, `UPDATE busgen_log SET created_at = created_at - ?1
		WHERE seq IN (SELECT seq FROM busgen_log ORDER BY seq LIMIT ?2) AND created_at > ?3`,
		month, agedEvents, time.Now().Add(-month).UnixMicro())
}

// growBacklog fills the file until that many events wait.
func growBacklog(ctx context.Context, path string, size int) error {
	there, err := eventsIn(path)
	if err == nil && there < size {
		_, err = fill(ctx, path, size-there, false, 0)
	}
	return err
}

// growRetries makes a file whose subscription waits for that many retries: the bus makes the
// first, and the others are copies.
func growRetries(ctx context.Context, path string, size int) error {
	b, err := openBus(ctx, path)
	if err != nil {
		return err
	}
	failed := make(chan struct{}, 1)
	err = b.handle(subscriptionName(0), func() error {
		failed <- struct{}{}
		return errors.New("the card was declined")
	}, runtime.WithRetry(retry.MaxAttempts(4), retry.BaseDelay(time.Hour), retry.MaxDelay(time.Hour)))
	if err == nil {
		_, err = b.publishMany(ctx, 1, 0)
	}
	if err == nil {
		err = b.Start(ctx)
	}
	if err == nil {
		select {
		case <-failed:
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if err = errors.Join(err, b.Shutdown(context.WithoutCancel(ctx))); err != nil {
		return err
	}
	return multiply(ctx, path, size-1, 0)
}

// growDeadLetters makes a file with that many dead letters, of which the bus makes the first,
// and with agedEvents settled events after them.
func growDeadLetters(ctx context.Context, path string, size int) error {
	if err := makeDead(ctx, path, 1); err != nil {
		return err
	}
	if err := multiply(ctx, path, size-1, agedEvents); err != nil {
		return err
	}
	return change(path, "UPDATE busgen_log SET created_at = created_at - ?1", month)
}

const month = 30 * 24 * time.Hour

// multiply inserts copies of the only row that a file has in deliveries, each of an event of
// its own, and then settled events. Rows are due or dead one after the other, and those that
// have a fingerprint have ten.
func multiply(ctx context.Context, path string, copies, settled int) (err error) {
	l, err := openLimit(ctx, path) // which publishes an event
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	if err := l.insertRows(copies+settled, 1000); err != nil {
		return err
	}
	for _, table := range []string{"busgen_deliveries", "busgen_attempts"} {
		var columns, values []string
		err := query(l.conn, "SELECT name FROM pragma_table_info('"+table+"')", func(s *sqlite3.Stmt) {
			column := s.ColumnText(0)
			columns = append(columns, column)
			switch column {
			case "seq":
				column = "l.seq"
			case "due_at":
				column = "d.due_at - 1000 * l.seq" // none can have been written in the future
			case "dead_at":
				column = "d.dead_at - l.seq"
			case "fingerprint":
				column = "substr(d.fingerprint, 1, length(d.fingerprint) - 1) || (l.seq % 10)"
			default:
				column = "d." + column
			}
			values = append(values, column)
		})
		if err == nil {
			err = l.conn.Exec(fmt.Sprintf(
				"INSERT INTO %s (%s) SELECT %s FROM busgen_log l CROSS JOIN (SELECT * FROM %s LIMIT 1) d WHERE l.seq > d.seq + "+
					"1 AND l.seq <= d.seq + 1 + %d",
				table, strings.Join(columns, ", "), strings.Join(values, ", "), table, copies))
		}
		if err != nil {
			return err
		}
	}
	return l.conn.Exec("UPDATE busgen_subscriptions SET cursor = (SELECT max(seq) FROM busgen_log)")
}

// eventsIn returns how many events a file has, if there is one. None of them was pruned.
func eventsIn(path string) (events int, err error) {
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	conn, err := sqlite3.Open(path)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	err = query(conn, "SELECT max(seq) FROM busgen_log", func(s *sqlite3.Stmt) { events = s.ColumnInt(0) })
	return events, err
}

// change runs a statement on the file of no running bus. A duration is in microseconds there.
func change(path, sql string, args ...any) (err error) {
	conn, err := sqlite3.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	s, _, err := conn.Prepare(sql)
	if err != nil {
		return err
	}
	for i, arg := range args {
		var n int64
		switch arg := arg.(type) {
		case time.Duration:
			n = arg.Microseconds()
		case int:
			n = int64(arg)
		case int64:
			n = arg
		}
		if err := s.BindInt64(i+1, n); err != nil {
			return errors.Join(err, s.Close())
		}
	}
	return errors.Join(s.Exec(), s.Close())
}
