package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/bench/events"
)

// limit measures the driver alone: one goroutine runs a prepared INSERT per row, encodes
// nothing and waits for nobody. A bus is faster only where one statement inserts several
// rows.
type limit struct {
	conn                  *sqlite3.Conn
	begin, insert, commit *sqlite3.Stmt

	id      uuid.UUID // of the row inserted last
	typeID  int64
	payload []byte
}

// openLimit opens a log for the bare loop. A bus makes the file and publishes
// one event into it, so that tables, indexes and rows are those of the bus and
// not an imitation of them.
func openLimit(ctx context.Context, path string) (*limit, error) {
	if err := publishOne(ctx, path); err != nil {
		return nil, err
	}
	conn, err := sqlite3.Open(path)
	if err != nil {
		return nil, err
	}
	l := &limit{conn: conn}
	if err := l.prepare(); err != nil {
		return nil, errors.Join(fmt.Errorf("the bare loop: %w", err), conn.Close())
	}
	return l, nil
}

func publishOne(ctx context.Context, path string) error {
	b, err := openBus(ctx, path)
	if err != nil {
		return err
	}
	_, err = events.PublishOrderPlaced(ctx, b.Bus, sample)
	return errors.Join(err, b.Shutdown(ctx))
}

// prepare sets the pragmas that the file does not store, reads the row to repeat, and
// prepares the statements.
func (l *limit) prepare() (err error) {
	if err := l.conn.Exec("PRAGMA synchronous=FULL; PRAGMA journal_size_limit=67108864"); err != nil {
		return err
	}
	if err := l.requireSynced(); err != nil {
		return err
	}
	row, _, err := l.conn.Prepare("SELECT id, type, payload FROM busgen_log")
	if err != nil {
		return err
	}
	defer row.Close()
	if !row.Step() {
		return errors.Join(row.Err(), errors.New("the log has no event to copy"))
	}
	l.id, l.typeID, l.payload = uuid.UUID(row.ColumnBlob(0, nil)), row.ColumnInt64(1), row.ColumnBlob(2, nil)
	return l.statements()
}

// statements prepares the statements.
func (l *limit) statements() (err error) {
	for _, s := range []struct {
		stmt **sqlite3.Stmt
		sql  string
	}{
		{&l.begin, "BEGIN IMMEDIATE"},
		{&l.insert, "INSERT INTO busgen_log (id, type, payload, metadata, created_at) VALUES (?, ?, ?, NULL, ?)"},
		{&l.commit, "COMMIT"},
	} {
		if *s.stmt, _, err = l.conn.PrepareFlags(s.sql, sqlite3.PREPARE_PERSISTENT); err != nil {
			return err
		}
	}
	return nil
}

// requireSynced returns an error unless each commit is synced, as the bus's are.
func (l *limit) requireSynced() error {
	for _, want := range []struct{ pragma, value string }{{"journal_mode", "wal"}, {"synchronous", "2"}} {
		s, _, err := l.conn.Prepare("PRAGMA " + want.pragma)
		if err != nil {
			return err
		}
		value := ""
		if s.Step() {
			value = s.ColumnText(0)
		}
		if err := s.Close(); err != nil {
			return err
		}
		if value != want.value {
			return fmt.Errorf("%s is %q and should be %q", want.pragma, value, want.value)
		}
	}
	return nil
}

// insertFor runs transactions of rows rows for d, and returns how many rows it inserted.
func (l *limit) insertFor(d time.Duration, rows int) (total int, err error) {
	for until := time.Now().Add(d); time.Now().Before(until); total += rows {
		if err := l.transaction(rows); err != nil {
			return total, err
		}
	}
	return total, nil
}

// insertRows inserts so many rows, in transactions of at most each.
func (l *limit) insertRows(total, each int) error {
	for ; total > 0; total -= each {
		if err := l.transaction(min(total, each)); err != nil {
			return err
		}
	}
	return nil
}

func (l *limit) transaction(rows int) error {
	if err := l.begin.Exec(); err != nil {
		return err
	}
	now := time.Now().UnixMicro()
	for range rows {
		if err := l.insertRow(now); err != nil {
			return err
		}
	}
	return l.commit.Exec()
}

func (l *limit) insertRow(createdAt int64) error {
	l.nextID()
	if err := l.insert.BindBlob(1, l.id[:]); err != nil {
		return err
	}
	if err := l.insert.BindInt64(2, l.typeID); err != nil {
		return err
	}
	if err := l.insert.BindRawText(3, l.payload); err != nil {
		return err
	}
	if err := l.insert.BindInt64(4, createdAt); err != nil {
		return err
	}
	return l.insert.Exec()
}

// nextID increments the UUIDv7, so its index grows only at the end, as that of the bus
// does, and no time goes into random numbers.
func (l *limit) nextID() {
	low := l.id[8:]
	binary.BigEndian.PutUint64(low, binary.BigEndian.Uint64(low)+1)
}

func (l *limit) close() error {
	return errors.Join(l.begin.Close(), l.insert.Close(), l.commit.Close(), l.conn.Close())
}
