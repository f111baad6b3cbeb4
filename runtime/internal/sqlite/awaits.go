package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
	"github.com/busgen/busgen/runtime/internal/sqlite/tables"
)

// awaits keeps the keys of events that deliveries can wait for, and wakes the deliveries that do.
//
// The process that dispatches writes the key of an event in the transaction that stores it, and wakes who waits for it. Events
// that others have stored have no keys yet: those of other processes, and those from before await_by was in the catalogue. They
// are a gap, which a goroutine fills in small steps. Until then nobody is given an event behind the gap, because an earlier one of
// the same key may be in it.
//
//	keys are written     gap                keys are written
//	────────────────┬──────────────────┬────────────────────────┐
//	              keyed               gap                      end
//
// Nothing of this is done for types without await_by, and nothing at all in a process whose catalogue has none.
type awaits struct {
	*ground
	writer    *writer
	consumers *consumers

	// Of the transaction at hand; under the writer's turn.
	woken  []int64 // subscriptions with deliveries that are due now
	doubts []doubt // deliveries that wait for events of a type with a gap
	filled filled  // by a step of the goroutine
	saving bool    // the positions are written

	mu      sync.Mutex          // guards what follows. Who changes types, ids and positions has the writer's turn, too
	specs   []engine.TypeSpec   // with await_by, which this process has declared
	kept    map[string]*awaited // of which this process keeps the keys, by its names; nil if it does not dispatch
	ids     map[int64]*awaited  // the same
	saved   int64               // the file says so much of the positions
	filling bool                // the goroutine runs
	ending  bool                // it must not begin any more
	running sync.WaitGroup      // waits for it
	patient context.Context     // ends its waiting
	hurry   context.CancelFunc
}

// awaited is an event type with await_by.
type awaited struct {
	id     int64
	name   string
	fields []string // names in JSON
	// Events up to keyed have their keys, and those behind gap up to end. If there is no gap, keyed is end.
	keyed, gap, end int64
	doubts          []tables.RowKey // deliveries that may wait for an event behind the gap
}

// doubt is a delivery that waits for events of a type with a gap.
type doubt struct {
	tables.RowKey
	of *awaited
}

// filled is what a step of the goroutine has done.
type filled struct {
	of       *awaited // nil for nothing
	keyed    int64
	resolved int // doubts
}

const (
	// fillWindow is how many positions of the log one step looks at, and fillKeys how many keys it writes at most.
	fillWindow = 4096
	fillKeys   = 256
	// fillBytes is of how many bytes of payload one step reads the keys, but for the last one.
	fillBytes = 4 << 20
	// saveEvery is how many events behind the log the positions in the file may be, which the next process fills again.
	saveEvery = 4096
)

func newAwaits(g *ground, w *writer, cs *consumers) *awaits {
	m := &awaits{ground: g, writer: w, consumers: cs}
	m.patient, m.hurry = context.WithCancel(context.Background())
	return m
}

// First implements [engine.Awaiter].
func (m *awaits) First(_ context.Context, of []engine.Awaited, but []int64) (found *engine.Record, err error) {
	ids, upTo := make([]int64, len(of)), int64(math.MaxInt64)
	m.mu.Lock()
	for i, one := range of {
		t := m.kept[one.Type]
		if t == nil {
			m.mu.Unlock()
			return nil, fmt.Errorf("events of type %s have no key to wait by: add await_by to the type in the catalogue, and start the bus", one.Type)
		}
		ids[i], upTo = t.id, min(upTo, t.keyed)
	}
	m.mu.Unlock()
	err = m.read(func(c *database.Conn) error {
		for i := range of {
			one, key := &of[i], engine.AwaitKey(of[i].Key)
			for _, seq := range but {
				its, err := c.Int64("SELECT EXISTS (SELECT 1 FROM busgen_event_keys WHERE type = ? AND key = ? AND seq = ?)", ids[i], key, seq)
				if err != nil {
					return err
				}
				if its != 0 {
					one.After = max(one.After, seq)
				}
			}
			seq, err := firstOf(c, ids[i], key, one.After, upTo)
			if err != nil {
				return err
			}
			if seq == 0 || found != nil && found.Seq < seq {
				continue
			}
			if found, err = m.event(c, seq); err != nil {
				return err
			}
		}
		return nil
	})
	return found, fault.Wrap("look for an event in", m.path, err)
}

// Event implements [engine.Awaiter].
func (m *awaits) Event(_ context.Context, seq int64) (r *engine.Record, err error) {
	err = m.read(func(c *database.Conn) error {
		r, err = m.event(c, seq)
		return err
	})
	return r, fault.Wrap("read an event of", m.path, err)
}

// mayBeThere reports, in the transaction at hand, whether one of these events is in the log. It says yes if that is not
// known, because keys are not written yet or others have stored events since this process has looked.
func (m *awaits) mayBeThere(b *batch, of []engine.Awaited) (bool, error) {
	end, err := b.conn.Int64("SELECT coalesce(max(seq), 0) FROM busgen_log")
	for i := 0; i < len(of) && err == nil; i++ {
		t := m.kept[of[i].Type]
		if t == nil || m.upTo(t) < t.gap {
			return true, nil
		}
		known := t.end
		if len(b.events) > 0 && b.events[0].Seq == known+1 { // these come after the step
			known = b.events[len(b.events)-1].Seq
		}
		if end > known {
			return true, nil
		}
		var seq int64
		if seq, err = firstOf(b.conn, t.id, engine.AwaitKey(of[i].Key), of[i].After, end); seq != 0 {
			return true, err
		}
	}
	return false, err
}

// event reads an event of the log.
func (m *awaits) event(c *database.Conn, seq int64) (r *engine.Record, err error) {
	err = c.Query("SELECT seq, id, type, "+tables.Bounded("payload")+", "+tables.Bounded("metadata")+", created_at, due_at FROM busgen_log WHERE seq = ?",
		func(s *sqlite3.Stmt) error {
			r = &engine.Record{Seq: seq, ID: database.UUID(s, 1), CreatedAt: database.Time(s, 5)}
			if s.ColumnType(6) != sqlite3.NULL {
				r.Due = database.Time(s, 6)
			}
			typeID := s.ColumnInt64(2)
			if err := tables.ReadBounded(c, s, 3, r); err != nil {
				return err
			}
			return m.types.resolve(c, typeID, r)
		}, seq)
	return r, err
}

// firstOf returns the position of the first event with a key that is behind one position and not behind another; 0 for none.
func firstOf(c *database.Conn, typeID int64, key string, after, upTo int64) (seq int64, err error) {
	return c.Int64(`
		SELECT coalesce((SELECT k.seq FROM busgen_event_keys k
			WHERE k.type = ? AND k.key = ? AND k.seq > ? AND k.seq <= ? AND EXISTS (SELECT 1 FROM busgen_log l WHERE l.seq = k.seq)
			  AND NOT EXISTS (SELECT 1 FROM busgen_cancelled x WHERE x.seq = k.seq AND x.reason = '`+engine.ReasonCancelled+`' AND coalesce(x.answer, 1) <> 2)
			  AND NOT EXISTS (SELECT 1 FROM busgen_discarded x WHERE x.seq = k.seq AND x.reason = '`+engine.ReasonCancelled+`')
			ORDER BY k.seq LIMIT 1), 0)`, typeID, key, after, upTo)
}

// begin is called at the beginning of each transaction, also if that is run anew.
func (m *awaits) begin() {
	m.woken, m.doubts, m.filled, m.saving = m.woken[:0], emptied(m.doubts), filled{}, false
}

// keep writes the keys of the events of a transaction, at its end.
func (m *awaits) keep(c *database.Conn, events []logged) error {
	if len(m.kept) == 0 || len(events) == 0 {
		return nil
	}
	for i := range events {
		e := &events[i]
		t := m.kept[e.Type]
		if t == nil {
			continue
		}
		key := keyIn(e.Payload, t.fields)
		if key == "" {
			continue
		}
		if err := c.Exec("INSERT OR IGNORE INTO busgen_event_keys (type, key, seq) VALUES (?, ?, ?)", t.id, key, e.Seq); err != nil {
			return err
		}
		if err := m.wake(c, t, key, e.Seq); err != nil {
			return err
		}
	}
	last := events[len(events)-1].Seq
	if m.saving = last-m.saved >= saveEvery; !m.saving {
		return nil
	}
	return m.save(c, events[0].Seq-1, last)
}

// save writes the position of each type without a gap, whose events end at from, as to.
func (m *awaits) save(c *database.Conn, from, to int64) error {
	for _, t := range m.kept {
		if t.end != from || t.keyed < t.gap || len(t.doubts) > 0 {
			continue
		}
		if err := c.Exec("UPDATE busgen_awaited SET keyed = ? WHERE id = ?", to, t.id); err != nil {
			return err
		}
	}
	return nil
}

// wake makes deliveries due that wait for an event.
func (m *awaits) wake(c *database.Conn, t *awaited, key string, seq int64) error {
	var found []tables.RowKey
	err := c.Query("SELECT DISTINCT subscription, seq FROM busgen_waits WHERE type = ? AND key = ? AND after < ?", func(s *sqlite3.Stmt) error {
		found = append(found, tables.RowKey{Subscription: s.ColumnInt64(0), Seq: s.ColumnInt64(1)})
		return nil
	}, t.id, key, seq)
	for _, at := range found {
		if err == nil {
			err = m.makeDue(c, at)
		}
	}
	return err
}

// makeDue makes a delivery due that waits, and forgets what it waits for. A wait that ends otherwise is forgotten by the
// triggers of the table deliveries.
func (m *awaits) makeDue(c *database.Conn, at tables.RowKey) error {
	if err := forgetWaits(c, at); err != nil {
		return err
	}
	m.woken = append(m.woken, at.Subscription)
	return c.Exec("UPDATE busgen_deliveries SET due_at = ?, wait = 0 WHERE subscription = ? AND seq = ? AND state = 'waiting' AND suspended",
		m.clock.now(), at.Subscription, at.Seq)
}

// forgetWaits forgets what a delivery waits for.
func forgetWaits(c *database.Conn, at tables.RowKey) error {
	return c.Exec("DELETE FROM busgen_waits WHERE seq = ? AND subscription = ?", at.Seq, at.Subscription)
}

// wait writes what a delivery waits for, in the transaction that writes its row, and looks whether that has been stored
// since its attempt has looked.
func (m *awaits) wait(c *database.Conn, at tables.RowKey, all []engine.Await) error {
	if err := forgetWaits(c, at); err != nil {
		return err
	}
	for _, one := range all {
		for _, of := range one.Of {
			t := m.kept[of.Type]
			if t == nil {
				continue // First has refused it; the delivery comes again when it is due
			}
			err := c.Exec("INSERT OR REPLACE INTO busgen_waits (type, key, subscription, seq, member, name, after) VALUES (?, ?, ?, ?, ?, ?, ?)",
				t.id, engine.AwaitKey(of.Key), at.Subscription, at.Seq, one.Member, one.Name, of.After)
			if err != nil {
				return err
			}
		}
	}
	return m.resolve(c, at)
}

// resolve makes a delivery due if what it waits for is there. If there may be an event behind a gap, it does so when that is
// filled.
func (m *awaits) resolve(c *database.Conn, at tables.RowKey) error {
	type row struct {
		of    *awaited
		key   string
		after int64
	}
	var rows []row
	err := c.Query("SELECT type, key, after FROM busgen_waits WHERE seq = ? AND subscription = ?", func(s *sqlite3.Stmt) error {
		if t := m.ids[s.ColumnInt64(0)]; t != nil {
			rows = append(rows, row{t, s.ColumnText(1), s.ColumnInt64(2)})
		}
		return nil
	}, at.Seq, at.Subscription)
	upTo := int64(math.MaxInt64)
	for _, one := range rows {
		upTo = min(upTo, m.upTo(one.of))
	}
	for _, one := range rows {
		if err != nil {
			return err
		}
		var seq int64
		if seq, err = firstOf(c, one.of.id, one.key, one.after, upTo); err == nil && seq > 0 {
			return m.makeDue(c, at)
		}
	}
	for _, one := range rows {
		if m.upTo(one.of) < one.of.gap {
			m.doubts = append(m.doubts, doubt{at, one.of})
		}
	}
	return err
}

// upTo is the position up to which events count in the transaction at hand.
func (m *awaits) upTo(t *awaited) int64 {
	switch {
	case m.filled.of != t:
		return t.keyed
	case m.filled.keyed >= t.gap:
		return t.end
	}
	return m.filled.keyed
}

// stored is told that the transaction at hand is in the file, with these events.
func (m *awaits) stored(events []logged) {
	if len(m.kept) == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if f := m.filled; f.of != nil {
		f.of.doubts = f.of.doubts[f.resolved:]
		f.of.reach(f.keyed)
	}
	for _, d := range m.doubts {
		d.of.doubts = append(d.of.doubts, d.RowKey)
	}
	if len(events) == 0 {
		return
	}
	first, last := events[0].Seq, events[len(events)-1].Seq
	for _, t := range m.kept {
		if t.end != first-1 { // others have stored events in between
			t.gap = first - 1
		}
		t.end = last
		t.reach(t.keyed)
	}
	if m.saving {
		m.saved = last
	}
	m.fill()
}

// reach is called when events up to a position have their keys.
func (t *awaited) reach(keyed int64) {
	if t.keyed = keyed; keyed >= t.gap {
		t.keyed = t.end
	}
}

// behind reports whether there is something to fill, or to do now that a gap is filled.
func (t *awaited) behind() bool { return t.keyed < t.gap || len(t.doubts) > 0 }

// told calls the consumers whose deliveries were woken by a transaction that is stored.
func (m *awaits) told() {
	if len(m.woken) == 0 {
		return
	}
	for _, c := range m.consumers.all() {
		for _, id := range m.woken {
			if c.id == id {
				c.call(0)
				break
			}
		}
	}
}

// noticed is told where the log ends, after others have written. It is called by who has the writer's turn.
func (m *awaits) noticed(c *database.Conn, last int64) error {
	m.mu.Lock()
	keeps := m.kept != nil && len(m.specs) > 0
	m.mu.Unlock()
	if !keeps {
		return nil
	}
	return m.loadUpTo(c, last)
}

// load begins to keep keys, for who begins to dispatch, or takes in what has changed. The caller has the writer's turn.
func (m *awaits) load(c *database.Conn) error {
	last, err := c.Int64("SELECT coalesce(max(seq), 0) FROM busgen_log")
	if err != nil {
		return err
	}
	return m.loadUpTo(c, last)
}

func (m *awaits) loadUpTo(c *database.Conn, last int64) error {
	rows, err := tables.TypeRows(c)
	if err != nil {
		return err
	}
	stored, err := readAwaited(c)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	kept, ids := map[string]*awaited{}, map[int64]*awaited{}
	saved := last
	for _, spec := range m.specs {
		row, known := stored.of(rows, spec)
		if !known { // another program has changed it since, and this one cannot wait any more
			continue
		}
		t := m.ids[row.id]
		switch {
		case t == nil:
			t = &awaited{id: row.id, fields: row.fields, keyed: min(row.keyed, last), gap: last, end: last}
		case !slices.Equal(t.fields, row.fields): // another program has begun to read a former name
			t = &awaited{id: row.id, fields: row.fields, keyed: min(row.keyed, last), gap: last, end: last, doubts: t.doubts}
		case last > t.end: // others have stored events
			t.gap, t.end = last, last
		}
		t.name = spec.Name
		t.reach(t.keyed)
		kept[spec.Name], ids[t.id] = t, t
		saved = min(saved, row.keyed)
	}
	if m.kept == nil {
		m.saved = saved
	}
	m.kept, m.ids = kept, ids
	m.fill()
	return nil
}

// drop ends the keeping of keys: this process does not dispatch any more, or the log is another one.
func (m *awaits) drop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kept, m.ids = nil, nil
}

// close ends the goroutine, and writes how far the keys are.
func (m *awaits) close() {
	m.mu.Lock()
	m.ending = true
	m.mu.Unlock()
	m.hurry()
	m.running.Wait()
	m.mu.Lock()
	late := false
	for _, t := range m.kept {
		late = late || t.end > m.saved && !t.behind()
	}
	m.mu.Unlock()
	if !late {
		return
	}
	// The next process fills the rest, if this cannot be written.
	m.writer.do(context.Background(), func(c *database.Conn) error {
		for _, t := range m.kept {
			if err := m.save(c, t.end, t.end); err != nil {
				return err
			}
		}
		return nil
	})
}

// fill begins the goroutine if there is something for it. The caller holds mu.
func (m *awaits) fill() {
	if m.filling || m.ending || m.next() == nil {
		return
	}
	m.filling = true
	m.running.Add(1)
	go m.fillAll()
}

// next returns a type of which there is something to fill; nil for none. The caller holds mu.
func (m *awaits) next() *awaited {
	for _, t := range m.kept {
		if t.behind() {
			return t
		}
	}
	return nil
}

// fillAll is the goroutine.
func (m *awaits) fillAll() {
	defer m.running.Done()
	for {
		m.mu.Lock()
		t := m.next()
		if t == nil || m.ending {
			m.filling = false
			m.mu.Unlock()
			return
		}
		from, to := t.keyed, t.gap
		m.mu.Unlock()
		err := m.step(t, from, to)
		switch {
		case err == nil:
			continue
		case errors.Is(err, engine.ErrClosed), m.stopped.Load() != nil:
			m.mu.Lock()
			m.filling = false
			m.mu.Unlock()
			return
		}
		m.logger.Warn("the keys of stored events cannot be written; deliveries that wait for them wait longer, and it is tried again",
			"path", m.path, "type", t.name, "error", err)
		select {
		case <-time.After(longFaultDelay):
		case <-m.patient.Done():
		}
	}
}

// eventKey is the key of an event.
type eventKey struct {
	seq int64
	key string
}

// step fills the next part of a gap, in a small transaction.
func (m *awaits) step(t *awaited, from, to int64) error {
	next := from
	var keys []eventKey
	var err error
	if from < to {
		keys, next, err = m.readKeys(t, from, to)
	}
	if err != nil {
		return err
	}
	return m.writer.do(m.patient, func(c *database.Conn) error {
		if m.ids[t.id] != t {
			return nil // the log is another one by now
		}
		for _, one := range keys {
			// It may have been deleted meanwhile.
			err := c.Exec(`
				INSERT OR IGNORE INTO busgen_event_keys (type, key, seq)
				SELECT ?1, ?2, seq FROM busgen_log WHERE seq = ?3`, t.id, one.key, one.seq)
			if err == nil {
				err = m.wake(c, t, one.key, one.seq)
			}
			if err != nil {
				return err
			}
		}
		m.filled = filled{of: t, keyed: next}
		if next >= t.gap { // what is behind it counts for who waits
			for m.filled.resolved < min(len(t.doubts), fillKeys) {
				if err := m.resolve(c, t.doubts[m.filled.resolved]); err != nil {
					return err
				}
				m.filled.resolved++
			}
			if m.filled.resolved < len(t.doubts) {
				return nil // else a crash would forget the others
			}
		}
		return c.Exec("UPDATE busgen_awaited SET keyed = ? WHERE id = ?", m.upTo(t), t.id)
	})
}

// readKeys reads the keys of events of a type behind one position and up to another, or of the first of them, and says up to
// which position.
func (m *awaits) readKeys(t *awaited, from, to int64) (keys []eventKey, next int64, err error) {
	next = min(to, from+fillWindow)
	rows, size := 0, int64(0)
	err = m.read(func(c *database.Conn) error {
		if first, err := c.Int64("SELECT coalesce(min(seq), ?2) FROM busgen_log WHERE seq > ?1", from, to); err != nil {
			return err
		} else if first > next { // there may be a hole of any size, where events were deleted
			next = min(to, first-1)
			return nil
		}
		err := c.Query(`
			SELECT l.seq, `+tables.Bounded("l.payload")+` FROM busgen_log l JOIN busgen_types t ON t.id = l.type
			WHERE l.seq > ?1 AND l.seq <= ?2 AND t.name = (SELECT type FROM busgen_awaited WHERE id = ?3)
			  AND NOT EXISTS (SELECT 1 FROM busgen_origins o WHERE o.seq = l.seq)
			ORDER BY l.seq`, func(s *sqlite3.Stmt) error {
			seq, payload := s.ColumnInt64(0), tables.ColumnOf(s, 1)
			if tables.TooLong("payload", payload.Size) != nil {
				return nil // no handler can read it
			}
			if size += payload.Size; rows > 0 && (len(keys) == fillKeys || size > fillBytes) {
				next = seq - 1
				return errPageFull
			}
			rows++
			text, err := payload.Read(c, "payload", seq)
			if err != nil {
				return err
			}
			if key := keyIn(text, t.fields); key != "" {
				keys = append(keys, eventKey{seq, key})
			}
			return nil
		}, from, next, t.id)
		if errors.Is(err, errPageFull) {
			err = nil
		}
		return err
	})
	return keys, next, err
}

// keyIn returns the value of the first of these fields that a payload has, as [engine.AwaitKey] has it; empty for none.
func keyIn(payload []byte, fields []string) string {
	var all map[string]json.RawMessage
	if json.Unmarshal(payload, &all) != nil {
		return ""
	}
	for _, field := range fields {
		raw := all[field]
		if len(raw) == 0 {
			continue
		}
		switch raw[0] {
		case 'n', '{', '[':
			continue
		case '"':
			var text string
			json.Unmarshal(raw, &text)
			return engine.AwaitKey(text)
		}
		return engine.AwaitKey(string(raw))
	}
	return ""
}
