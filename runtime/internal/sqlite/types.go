package sqlite

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// typeRow is one row of types. Rows with the same name are one event type: its
// versions, and what it was called before.
type typeRow struct {
	id      int64
	name    string // what the type is called by the catalogue that was opened last
	written string // what it was called when the events of this row were published
	version int    // of their payloads
}

// typeKey is what is published: a type as a program calls it, and the version of
// its payload.
type typeKey struct {
	name    string
	version int
}

// typeInfo is what this process knows of a row.
type typeInfo struct {
	typeKey          // the name is that of this process's catalogue, if it has one for the type
	names   []string // all that the type ever had
}

// typeTable numbers event types. Numbers are never reused, so what is cached
// stays true. It is safe for concurrent use.
type typeTable struct {
	log *Log

	mu    sync.RWMutex
	own   map[string]string // the names of this process's catalogue, by all that it knows
	ids   map[typeKey]int64
	infos map[int64]typeInfo

	changes atomic.Int64 // grows with the names that are known
}

func newTypeTable(log *Log) *typeTable {
	return &typeTable{log: log, own: map[string]string{}, ids: map[typeKey]int64{}, infos: map[int64]typeInfo{}}
}

// number appends records as rows. A type that nobody has declared yet is
// numbered by the transaction that inserts its first event.
func (t *typeTable) number(dst []logged, records []engine.Record) []logged {
	if len(records) == 0 {
		return dst
	}
	dst = slices.Grow(dst, len(records))
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, r := range records {
		r.Version = max(r.Version, 1)
		dst = append(dst, logged{Record: r, typeID: t.ids[typeKey{r.Type, r.Version}]})
	}
	return dst
}

func (t *typeTable) info(id int64) (typeInfo, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	info, ok := t.infos[id]
	return info, ok
}

// resolve sets the type and version of a record that was read from the file.
func (t *typeTable) resolve(c *conn, id int64, r *engine.Record) error {
	info, known := t.info(id)
	if !known { // declared by another process, or by the transaction that appended its first event
		if err := t.load(c); err != nil {
			return err
		}
		info, _ = t.info(id)
	}
	r.Type, r.Version = info.name, info.version
	return nil
}

// load reads all types that the file knows.
func (t *typeTable) load(c *conn) error {
	return t.read(c, false)
}

// reload is load for another log, which has numbers of its own.
func (t *typeTable) reload(c *conn) error { return t.read(c, true) }

func (t *typeTable) read(c *conn, anew bool) error {
	rows, err := typeRows(c)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if anew {
		clear(t.ids)
		clear(t.infos)
		t.changes.Add(1)
	}
	called, names := map[string]string{}, namesOf(rows)
	for _, row := range rows {
		called[row.written] = t.called(row, names[row.name])
	}
	for _, row := range rows {
		info := typeInfo{typeKey{called[row.written], row.version}, names[row.name]}
		if base, dead := strings.CutPrefix(row.written, engine.DeadType("")); dead && called[base] != "" {
			info.name = engine.DeadType(called[base])
		}
		if !slices.Equal(t.infos[row.id].names, info.names) {
			t.changes.Add(1)
		}
		t.ids[typeKey{row.written, row.version}], t.infos[row.id] = row.id, info
	}
	return nil
}

// called is what this process calls the type of a row, which has had these names.
func (t *typeTable) called(row typeRow, names []string) string {
	for _, name := range append([]string{row.written, row.name}, names...) {
		if own := t.own[name]; own != "" {
			return own
		}
	}
	return row.name
}

// typeRows reads the table.
func typeRows(c *conn) (rows []typeRow, err error) {
	err = c.query("SELECT id, name, written, version FROM types ORDER BY id", func(s *sqlite3.Stmt) error {
		rows = append(rows, typeRow{s.ColumnInt64(0), s.ColumnText(1), s.ColumnText(2), s.ColumnInt(3)})
		return nil
	})
	return rows, err
}

// namesOf lists the names that each type ever had, by what it is called now.
func namesOf(rows []typeRow) map[string][]string {
	names := map[string][]string{}
	for _, row := range rows {
		for _, name := range []string{row.name, row.written} {
			if !slices.Contains(names[row.name], name) {
				names[row.name] = append(names[row.name], name)
			}
		}
	}
	return names
}
