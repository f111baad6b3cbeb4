package sqlite

import (
	"context"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
	"github.com/busgen/busgen/runtime/internal/typenames"
)

// Append implements [engine.Log].
func (l *Log) Append(ctx context.Context, records []engine.Record) error {
	if len(records) == 0 {
		return nil
	}
	r := l.writer.newRequest()
	defer l.writer.free(r)
	r.generation = l.generation.Load()
	r.events = l.types.number(r.events, records)
	if err := l.writer.submit(ctx, r); err != nil {
		return fault.Wrap("append to", l.path, err)
	}
	for i, e := range r.events {
		records[i].Seq, records[i].ID, records[i].Duplicate = e.Seq, e.ID, e.Duplicate
	}
	return nil
}

// Recognise implements [engine.Appender].
func (l *Log) Recognise(_ context.Context, records []engine.Record) error {
	now := time.Now()
	return fault.Wrap("read", l.path, l.read(func(c *database.Conn) error {
		for i := range records {
			if records[i].Dedupe == nil {
				continue
			}
			if err := recognise(c, &records[i], now); err != nil {
				return err
			}
		}
		return nil
	}))
}

// appendEvents writes the events of a request.
func (w *writer) appendEvents(r *request) error {
	r.refused = nil // what was in the way may have been rolled back since
	w.forgetNumbers(r)
	if err := w.deduplicate(r.events); isConflict(err) {
		r.refused = err
		return nil
	} else if err != nil {
		return err
	}
	if err := w.insert(r.events); err != nil {
		return err
	}
	numberDuplicates(r.events)
	return nil
}

// together tells how many requests, from the first on, can be written in the same statements: those that have nothing but
// small events that are due at once and have no key.
func together(requests []*request) (n int) {
	for _, r := range requests {
		if r.exec != nil || r.part != nil || slices.ContainsFunc(r.events, mustNotWait) {
			break
		}
		n++
	}
	return n
}

// appendTogether writes the events of such requests: rows that are inserted together cost half as much.
func (w *writer) appendTogether(requests []*request) error {
	first := len(w.events)
	for _, r := range requests {
		w.forgetNumbers(r)
		if err := w.declareTypes(r.events); err != nil {
			return err
		}
		w.events = append(w.events, r.events...)
	}
	written := w.events[first:]
	if err := w.insertAll(written); err != nil {
		return err
	}
	for _, r := range requests {
		for i := range r.events {
			r.events[i].Seq = written[i].Seq
		}
		written = written[len(r.events):]
	}
	return nil
}

// forgetNumbers takes the numbers of their types from events that another log has given them: this one has others.
func (w *writer) forgetNumbers(r *request) {
	if r.generation != w.log.generation.Load() {
		for i := range r.events {
			r.events[i].typeID = 0
		}
	}
}

// insert writes events at the end of the log, sets their Seq, and notes them
// for the tail. Of events with an idempotency key only those are written that
// are not known.
func (w *writer) insert(events []logged) error {
	if err := w.declareTypes(events); err != nil {
		return err
	}
	if !slices.ContainsFunc(events, logged.special) {
		return w.insertPlain(events)
	}
	for i := range events {
		if err := w.insertSpecial(events[i : i+1]); err != nil {
			return err
		}
	}
	return nil
}

// declareTypes gives events the numbers of their types.
func (w *writer) declareTypes(events []logged) (err error) {
	for i := range events {
		e := &events[i]
		if e.typeID == 0 || e.declared {
			if e.typeID, err = declareType(w.conn, typenames.Key{Name: e.Type, Version: e.Version}); err != nil {
				return err
			}
			e.declared = true
		}
	}
	return nil
}

// special tells whether an event is delayed or has an idempotency key.
func (e logged) special() bool { return !e.Due.IsZero() || e.Dedupe != nil }

// insertPlain writes events that are due at once and have no key.
func (w *writer) insertPlain(events []logged) error {
	if err := w.insertAll(events); err != nil {
		return err
	}
	w.events = append(w.events, events...)
	return nil
}

// insertAll writes the rows of such events, and sets their Seq.
func (w *writer) insertAll(events []logged) error {
	for left := events; len(left) > 0; {
		rows := 1
		for rows*2 <= min(len(left), maxInsertRows) && sizeOf(left[:rows*2]) <= maxInsertBytes {
			rows *= 2
		}
		if err := w.insertRows(left[:rows]); err != nil {
			return err
		}
		left = left[rows:]
	}
	return nil
}

// maxInsertRows is how many rows one statement inserts at most. Statements are
// prepared for each power of two: the larger ones take half the time per row.
const maxInsertRows = 64

// maxInsertBytes is how many bytes one statement inserts at most, unless it is for one event: SQLite has them in memory.
const maxInsertBytes = 1 << 20

// maxKeptBytes is of how many bytes of events SQLite may keep copies until the same statement runs again.
const maxKeptBytes = 64 << 10

// sizeOf returns how many bytes events have.
func sizeOf(events []logged) (size int) {
	for i := range events {
		size += len(events[i].Payload) + len(events[i].Metadata)
	}
	return size
}

func (w *writer) insertRows(events []logged) (err error) {
	defer w.conn.Recovered(&err)
	s, err := w.conn.Stmt(insertStatements[len(events)])
	if err != nil {
		return err
	}
	for i := range events {
		if err := bindEvent(s, 5*i, &events[i]); err != nil {
			return err
		}
	}
	if sizeOf(events) > maxKeptBytes {
		defer database.Quietly(func() { s.ClearBindings() })
	}
	if err := s.Exec(); err != nil {
		return err
	}
	// The newest row is never deleted, so numbers only grow; and within one
	// transaction they have no gaps.
	first := w.conn.LastInsertRowID() - int64(len(events)) + 1
	for i := range events {
		events[i].Seq = first + int64(i)
	}
	return nil
}

// insertStatements holds the INSERT by its number of rows.
var insertStatements = func() map[int]string {
	statements := map[int]string{}
	for rows := 1; rows <= maxInsertRows; rows *= 2 {
		statements[rows] = "INSERT INTO busgen_log (id, type, payload, metadata, created_at) VALUES (?, ?, ?, ?, ?)" +
			strings.Repeat(", (?, ?, ?, ?, ?)", rows-1)
	}
	return statements
}()

// bindEvent binds one row after the given number of parameters.
func bindEvent(s *sqlite3.Stmt, after int, e *logged) error {
	if err := s.BindBlob(after+1, e.ID[:]); err != nil {
		return err
	}
	if err := s.BindInt64(after+2, e.typeID); err != nil {
		return err
	}
	if err := s.BindText(after+3, textOf(e.Payload)); err != nil {
		return err
	}
	var err error
	if e.Metadata == nil {
		err = s.BindNull(after + 4)
	} else {
		err = s.BindText(after+4, textOf(e.Metadata))
	}
	if err != nil {
		return err
	}
	return s.BindInt64(after+5, e.CreatedAt.UnixMicro())
}

// textOf is the text of b without a copy. Binding copies it into the memory of
// SQLite, and nobody writes to what was published.
func textOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
