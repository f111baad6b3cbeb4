package sqlite

import (
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/tables"
	"github.com/busgen/busgen/runtime/internal/typenames"
)

// batch is the transaction at hand of the writer: what it writes, and who has to be told. It belongs to who has the
// writer's turn.
type batch struct {
	*ground
	awaits   *awaits
	conn     *database.Conn
	requests []*request
	events   []logged // that it appends
	flushes  []flush
	keys     []settledKey
	settled  []tentative // by functions of the program
	stepping []stepped
}

// takeBack makes the batch what it was before a transaction that has failed.
func (b *batch) takeBack() {
	b.unsettle()
	b.events = emptied(b.events)
}

// clear makes the batch an empty one, and keeps the memory.
func (b *batch) clear() {
	b.requests, b.events, b.flushes, b.keys, b.stepping = nil, emptied(b.events), emptied(b.flushes), emptied(b.keys), emptied(b.stepping)
}

// emptied is a list without its elements, but with its memory.
func emptied[T any](list []T) []T {
	clear(list)
	return list[:0]
}

// appendEvents writes the events of a request.
func (b *batch) appendEvents(r *request) error {
	r.refused = nil // what was in the way may have been rolled back since
	b.forgetNumbers(r)
	if err := b.deduplicate(r.events); isConflict(err) {
		r.refused = err
		return nil
	} else if err != nil {
		return err
	}
	if err := b.insert(r.events); err != nil {
		return err
	}
	numberDuplicates(r.events)
	return nil
}

// together tells how many requests, from the first on, can be written in the same statements: those that have nothing but
// small events that are due at once and have no key.
func together(requests []*request) (n int) {
	for _, r := range requests {
		if r.exec != nil || r.part != nil || r.step != nil || slices.ContainsFunc(r.events, mustNotWait) {
			break
		}
		n++
	}
	return n
}

// appendTogether writes the events of such requests: rows that are inserted together cost half as much.
func (b *batch) appendTogether(requests []*request) error {
	first := len(b.events)
	for _, r := range requests {
		b.forgetNumbers(r)
		if err := b.declareTypes(r.events); err != nil {
			return err
		}
		b.events = append(b.events, r.events...)
	}
	written := b.events[first:]
	if err := b.insertAll(written); err != nil {
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
func (b *batch) forgetNumbers(r *request) {
	if r.generation != b.generation.Load() {
		for i := range r.events {
			r.events[i].typeID = 0
		}
	}
}

// insert writes events at the end of the log, sets their Seq, and notes them
// for the tail. Of events with an idempotency key only those are written that
// are not known.
func (b *batch) insert(events []logged) error {
	if err := b.declareTypes(events); err != nil {
		return err
	}
	if !slices.ContainsFunc(events, logged.special) {
		return b.insertPlain(events)
	}
	if first := &events[0]; !slices.ContainsFunc(events, func(e logged) bool { return e.rare() || e.Express != first.Express }) {
		return b.insertExpress(events)
	}
	for i := range events {
		if err := b.insertSpecial(events[i : i+1]); err != nil {
			return err
		}
	}
	return nil
}

// declareTypes gives events the numbers of their types.
func (b *batch) declareTypes(events []logged) (err error) {
	for i := range events {
		e := &events[i]
		if e.typeID == 0 || e.declared {
			if e.typeID, err = declareType(b.conn, typenames.Key{Name: e.Type, Version: e.Version}); err != nil {
				return err
			}
			e.declared = true
		}
	}
	return nil
}

// special tells whether an event is more than a row of the log.
func (e logged) special() bool { return e.rare() || e.Express != 0 }

// rare tells whether an event is delayed, has an idempotency key, or is known and not to be written.
func (e logged) rare() bool { return !e.Due.IsZero() || e.Dedupe != nil || e.Duplicate }

// insertPlain writes the rows of events, and notes them for the tail.
func (b *batch) insertPlain(events []logged) error {
	if err := b.insertAll(events); err != nil {
		return err
	}
	b.events = append(b.events, events...)
	return nil
}

// insertAll writes the rows of events, and sets their Seq.
func (b *batch) insertAll(events []logged) error {
	for left := events; len(left) > 0; {
		rows := 1
		for rows*2 <= min(len(left), maxInsertRows) && sizeOf(left[:rows*2]) <= maxInsertBytes {
			rows *= 2
		}
		if err := b.insertRows(left[:rows]); err != nil {
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

func (b *batch) insertRows(events []logged) (err error) {
	defer b.conn.Recovered(&err)
	s, err := b.conn.Stmt(insertStatements[len(events)])
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
	first := b.conn.LastInsertRowID() - int64(len(events)) + 1
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

func isConflict(err error) bool {
	_, ok := err.(*event.ConflictError)
	return ok
}

// insertSpecial writes one event that is delayed or express, or has an idempotency key.
func (b *batch) insertSpecial(one []logged) error {
	e := &one[0]
	if e.Duplicate {
		return nil
	}
	write := b.insertPlain
	if e.Express != 0 && e.Due.IsZero() {
		write = b.insertExpress
	}
	if err := write(one); err != nil {
		return err
	}
	if d := e.Dedupe; d != nil {
		digest, of := e.KeyDigest(), e.typeID
		if d.Scope != "" {
			var err error
			if of, err = declareType(b.conn, typenames.Key{Name: e.KeyType()}); err != nil {
				return err
			}
		}
		if err := b.conn.Exec(insertKey, of, d.Key, e.Seq, e.ID[:], digest[:], d.Expires); err != nil {
			return err
		}
	}
	if e.Due.IsZero() {
		return nil
	}
	// A delayed event is on no consumer's way: each has a delivery that waits.
	due := dueOf(&e.Record)
	b.events[len(b.events)-1].Due = due
	if err := b.conn.Exec(updateDue, e.Due, e.Seq); err != nil {
		return err
	}
	return b.conn.Exec(insertWaiting, e.Seq, due, e.typeID)
}

const (
	insertKey = "INSERT OR REPLACE INTO busgen_dedupe (type, key, seq, id, digest, expires_at) VALUES (?, ?, ?, ?, ?, ?)"
	updateDue = "UPDATE busgen_log SET due_at = ? WHERE seq = ?"
	// insertWaiting gives an event ?1 of a type ?3 deliveries that are due at ?2.
	insertWaiting = `
		INSERT INTO busgen_deliveries (subscription, seq, state, failures, due_at)
		SELECT subscription, ?1, 'waiting', 0, ?2 FROM busgen_routes WHERE type = ?3`
)

// dueOf returns when the deliveries of a delayed event are due. One that is due as it is
// published must not wait for a wall clock that is set back.
func dueOf(r *engine.Record) time.Time {
	if !r.Due.After(r.CreatedAt) {
		return tables.AtOnce
	}
	return r.Due
}
