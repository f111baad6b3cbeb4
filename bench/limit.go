package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/bench/events"
	"github.com/busgen/busgen/runtime/gen/wire"
)

// limit measures the driver alone: one goroutine runs a prepared INSERT per row, encodes
// nothing and waits for nothing. A bus is faster only where one statement inserts several
// rows, so limit can do that as well (togetherFor).
type limit struct {
	conn                  *sqlite3.Conn
	begin, insert, commit *sqlite3.Stmt
	insertMany            []*sqlite3.Stmt // 2, 4, … rows at once, see largestInsert

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
		{&l.insert, insertRow},
		{&l.commit, "COMMIT"},
	} {
		if *s.stmt, _, err = l.conn.PrepareFlags(s.sql, sqlite3.PREPARE_PERSISTENT); err != nil {
			return err
		}
	}
	for rows := 2; rows <= largestInsert; rows *= 2 {
		many, _, err := l.conn.PrepareFlags(insertRow+strings.Repeat(", (?, ?, ?, NULL, ?)", rows-1),
			sqlite3.PREPARE_PERSISTENT)
		if err != nil {
			return err
		}
		l.insertMany = append(l.insertMany, many)
	}
	return nil
}

const (
	insertRow = "INSERT INTO busgen_log (id, type, payload, metadata, created_at) VALUES (?, ?, ?, NULL, ?)"
	// largestInsert is how many rows one statement inserts at most.
	largestInsert = 64
)

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
	for until := time.Now().Add(d); total == 0 || time.Now().Before(until); total += rows {
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

// togetherFor is insertFor with statements that insert many rows at once.
func (l *limit) togetherFor(d time.Duration, rows int) (total int, err error) {
	for until := time.Now().Add(d); total == 0 || time.Now().Before(until); total += rows {
		if err := l.within(func(now int64) error { return l.insertTogether(now, rows) }); err != nil {
			return total, err
		}
	}
	return total, nil
}

func (l *limit) transaction(rows int) error {
	return l.within(func(now int64) error {
		for range rows {
			if err := l.bindRow(l.insert, 0, now); err != nil {
				return err
			}
			if err := l.insert.Exec(); err != nil {
				return err
			}
		}
		return nil
	})
}

// within runs a transaction.
func (l *limit) within(insert func(now int64) error) error {
	if err := l.begin.Exec(); err != nil {
		return err
	}
	if err := insert(time.Now().UnixMicro()); err != nil {
		return err
	}
	return l.commit.Exec()
}

// insertTogether inserts rows with as few statements as there are.
func (l *limit) insertTogether(now int64, rows int) error {
	for rows > 0 {
		n, s := 1, l.insert
		for _, many := range l.insertMany {
			if n*2 > rows {
				break
			}
			n, s = n*2, many
		}
		for i := range n {
			if err := l.bindRow(s, 4*i, now); err != nil {
				return err
			}
		}
		if err := s.Exec(); err != nil {
			return err
		}
		rows -= n
	}
	return nil
}

// bindRow binds the next row after the given number of parameters.
func (l *limit) bindRow(s *sqlite3.Stmt, after int, createdAt int64) error {
	l.nextID()
	if err := s.BindBlob(after+1, l.id[:]); err != nil {
		return err
	}
	if err := s.BindInt64(after+2, l.typeID); err != nil {
		return err
	}
	if err := s.BindRawText(after+3, l.payload); err != nil {
		return err
	}
	return s.BindInt64(after+4, createdAt)
}

// nextID increments the UUIDv7, so its index grows only at the end, as that of the bus
// does, and no time goes into random numbers.
func (l *limit) nextID() {
	low := l.id[8:]
	binary.BigEndian.PutUint64(low, binary.BigEndian.Uint64(low)+1)
}

func (l *limit) close() error {
	err := errors.Join(l.begin.Close(), l.insert.Close(), l.commit.Close())
	for _, many := range l.insertMany {
		err = errors.Join(err, many.Close())
	}
	return errors.Join(err, l.conn.Close())
}

// rowBytes is what a row of the log has besides its payload: id, type and time.
const rowBytes = 16 + 8 + 8

// plainFile appends as many bytes as the rows of the sample have to a file, and syncs it after
// as many of them as a commit has. That is what the disk can do for a log that has nothing
// else: no index, no transaction, no second copy of a page.
type plainFile struct {
	*os.File
	row []byte
}

func newPlainFile(path string) (*plainFile, error) {
	payload, err := wire.NewCodec[events.OrderPlaced]().Encode(sample)
	if err != nil {
		return nil, err
	}
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return &plainFile{file, make([]byte, rowBytes+len(payload))}, nil
}

// appendFor appends for d, and returns how many rows it was.
func (f *plainFile) appendFor(d time.Duration, rows int) (total int, err error) {
	each := bytes.Repeat(f.row, rows)
	for until := time.Now().Add(d); total == 0 || time.Now().Before(until); total += rows {
		if _, err := f.Write(each); err != nil {
			return total, err
		}
		if err := f.Sync(); err != nil {
			return total, err
		}
	}
	return total, nil
}
