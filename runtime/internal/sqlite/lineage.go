package sqlite

import (
	"bytes"
	"cmp"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
)

// The file can change under a bus, through SQLite's own locks: a shell restores a
// backup into it, and positions, numbers of types and owners are other ones from
// one transaction to the next. So each transaction that writes first makes sure
// that the log is still the one that this process knows. That costs a question of
// a microsecond, unless another connection has written.

// lineage is what tells one log, or one state of it, from another.
type lineage struct {
	version int64     // PRAGMA data_version: grows when another connection writes
	schema  int64     // PRAGMA schema_version: a restored file has another one
	log     []byte    // the random number that the file keeps for life
	last    int64     // the newest event known to be in the log
	id      uuid.UUID // and its id
}

// errRestored is the error of a transaction that found another log, or an earlier
// state of it, than the one that it was meant for.
var errRestored = errors.New("another state of the file was restored while it was in use")

// learn reads what the log is. The caller has no transaction open, or one that
// others cannot disturb.
func (w *writer) learn() error {
	now := lineage{}
	var err error
	if now.version, err = w.conn.Int64("PRAGMA data_version"); err != nil {
		return err
	}
	if now.schema, err = w.conn.Int64("PRAGMA schema_version"); err != nil {
		return err
	}
	err = w.conn.Query(`
		SELECT (SELECT log FROM busgen_identity), l.seq, l.id FROM (SELECT max(seq) AS seq FROM busgen_log) m LEFT JOIN busgen_log l ON l.seq = m.seq`, func(s *sqlite3.Stmt) error {
		now.log, now.last, now.id = s.ColumnBlob(0, nil), s.ColumnInt64(1), database.UUID(s, 2)
		return nil
	})
	if err == nil {
		w.known = now
	}
	if w.shared != nil {
		w.shared.Rebuilt() // another log may have other views and triggers
	}
	return err
}

// verify makes sure, in the transaction at hand, that the log is the one that this
// process knows, and that this process still dispatches if it thinks so. The error
// is errRestored, an *event.OwnedError, or that of a file that is no longer ours.
func (w *writer) verify() error {
	version, err := w.dataVersion()
	if err != nil || version == w.known.version {
		return err
	}
	schema, err := w.conn.Int64("PRAGMA schema_version")
	if err != nil {
		return err
	}
	now := lineage{version: version, schema: schema}
	var since, before int64
	var pid int
	var at uuid.UUID // the id of what is now where the newest known event was
	err = w.conn.Query(`
		SELECT (SELECT log FROM busgen_identity), l.seq, l.id, (SELECT id FROM busgen_log WHERE seq = ?), (SELECT since FROM busgen_owner), (SELECT pid FROM busgen_owner)
		FROM (SELECT max(seq) AS seq FROM busgen_log) m LEFT JOIN busgen_log l ON l.seq = m.seq`, func(s *sqlite3.Stmt) error {
		now.log, now.last, now.id = s.ColumnBlob(0, nil), s.ColumnInt64(1), database.UUID(s, 2)
		at, since, pid = database.UUID(s, 3), s.ColumnInt64(4), s.ColumnInt(5)
		return nil
	}, w.known.last)
	if err != nil {
		return errors.Join(w.whatIsIt(), err)
	}
	before = w.since.Load()
	switch {
	case !bytes.Equal(now.log, w.known.log), now.last < w.known.last, at != w.known.id && at != uuid.Nil:
		return errRestored
	case before > 0 && since < before:
		return errRestored // owners come after one another
	case before > 0 && since > before:
		return &event.OwnedError{Path: w.conn.Path, PID: pid, Since: time.UnixMicro(since).UTC()}
	case before > 0 && now.schema != w.known.schema:
		if same, err := w.cursorsAreOurs(); err != nil || !same {
			return cmp.Or(err, errRestored)
		}
	}
	if now.schema != w.known.schema {
		w.log.tail.drop() // somebody was erased, or the file was rewritten
		if w.shared != nil {
			w.shared.Rebuilt()
		}
	}
	w.known = now
	return nil
}

// dataVersion asks without an allocation.
func (w *writer) dataVersion() (version int64, err error) {
	defer w.conn.Recovered(&err)
	s, err := w.conn.Stmt("PRAGMA data_version")
	if err != nil {
		return 0, err
	}
	if s.Step() {
		version = s.ColumnInt64(0)
	}
	return version, s.Reset()
}

// whatIsIt returns why the file is no log of this version, or nil if it is one.
func (w *writer) whatIsIt() error {
	empty, err := inspect(w.conn)
	if err == nil && empty {
		return &event.StorageError{
			Fault: event.Foreign, Op: "write", Path: w.conn.Path,
			Hint: "the file was emptied while the bus ran: stop the program, restore a backup, and start it again",
		}
	}
	if err == nil {
		err = upToDate(w.conn)
	}
	return err
}

// cursorsAreOurs tells whether the positions in the file are those that this
// process has written. A backup that differs in nothing else does so in them.
func (w *writer) cursorsAreOurs() (same bool, err error) {
	ours := map[int64]int64{}
	for _, c := range w.log.all() {
		c.mu.Lock()
		ours[c.id] = c.cursor
		c.mu.Unlock()
	}
	err = w.conn.Query("SELECT id, cursor FROM busgen_subscriptions", func(s *sqlite3.Stmt) error {
		if cursor, ok := ours[s.ColumnInt64(0)]; ok && cursor == s.ColumnInt64(1) {
			delete(ours, s.ColumnInt64(0))
		}
		return nil
	})
	return len(ours) == 0, err
}

// appended notes the newest event, which this process has written.
func (k *lineage) appended(events []logged) {
	if n := len(events); n > 0 {
		k.last, k.id = events[n-1].Seq, events[n-1].ID
	}
}
