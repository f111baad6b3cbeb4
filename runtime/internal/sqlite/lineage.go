package sqlite

import (
	"bytes"
	"cmp"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/engine"
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

// appended notes the newest event, which this process has written.
func (k *lineage) appended(events []logged) {
	if n := len(events); n > 0 {
		k.last, k.id = events[n-1].Seq, events[n-1].ID
	}
}

// errRestored is the error of a transaction that found another log, or an earlier
// state of it, than the one that it was meant for.
var errRestored = errors.New("another state of the file was restored while it was in use")

// learn reads what the log is. The caller has no transaction open, or one that
// others cannot disturb.
func (lo *lookout) learn() error {
	now := lineage{}
	var err error
	if now.version, err = lo.writer.conn.Int64("PRAGMA data_version"); err != nil {
		return err
	}
	if now.schema, err = lo.writer.conn.Int64("PRAGMA schema_version"); err != nil {
		return err
	}
	err = lo.writer.conn.Query(`
		SELECT (SELECT log FROM busgen_identity), l.seq, l.id FROM (SELECT max(seq) AS seq FROM busgen_log) m LEFT JOIN busgen_log l ON l.seq = m.seq`, func(s *sqlite3.Stmt) error {
		now.log, now.last, now.id = s.ColumnBlob(0, nil), s.ColumnInt64(1), database.UUID(s, 2)
		return nil
	})
	if err == nil {
		lo.known = now
	}
	lo.writer.rebuilt()
	return err
}

// verify makes sure, in the transaction at hand, that the log is the one that this
// process knows, and that this process still dispatches if it thinks so. The error
// is errRestored, an *engine.OwnedError, or that of a file that is no longer ours.
func (lo *lookout) verify() error {
	version, err := lo.dataVersion()
	if err != nil || version == lo.known.version {
		return err
	}
	schema, err := lo.writer.conn.Int64("PRAGMA schema_version")
	if err != nil {
		return err
	}
	now := lineage{version: version, schema: schema}
	var since, before int64
	var pid int
	var at uuid.UUID // the id of what is now where the newest known event was
	err = lo.writer.conn.Query(`
		SELECT (SELECT log FROM busgen_identity), l.seq, l.id, (SELECT id FROM busgen_log WHERE seq = ?), (SELECT since FROM busgen_owner), (SELECT pid FROM busgen_owner)
		FROM (SELECT max(seq) AS seq FROM busgen_log) m LEFT JOIN busgen_log l ON l.seq = m.seq`, func(s *sqlite3.Stmt) error {
		now.log, now.last, now.id = s.ColumnBlob(0, nil), s.ColumnInt64(1), database.UUID(s, 2)
		at, since, pid = database.UUID(s, 3), s.ColumnInt64(4), s.ColumnInt(5)
		return nil
	}, lo.known.last)
	if err != nil {
		return errors.Join(lo.whatIsIt(), err)
	}
	before = lo.since.Load()
	switch {
	case !bytes.Equal(now.log, lo.known.log), now.last < lo.known.last, at != lo.known.id && at != uuid.Nil:
		return errRestored
	case before > 0 && since < before:
		return errRestored // owners come after one another
	case before > 0 && since > before:
		return &engine.OwnedError{Path: lo.writer.conn.Path, PID: pid, Since: time.UnixMicro(since).UTC()}
	case before > 0 && now.schema != lo.known.schema:
		if same, err := lo.cursorsAreOurs(); err != nil || !same {
			return cmp.Or(err, errRestored)
		}
	}
	if now.schema != lo.known.schema {
		lo.tail.drop() // somebody was erased, or the file was rewritten
		lo.writer.rebuilt()
	}
	lo.known = now
	return nil
}

// dataVersion asks without an allocation.
func (lo *lookout) dataVersion() (version int64, err error) {
	defer lo.writer.conn.Recovered(&err)
	s, err := lo.writer.conn.Stmt("PRAGMA data_version")
	if err != nil {
		return 0, err
	}
	if s.Step() {
		version = s.ColumnInt64(0)
	}
	return version, s.Reset()
}

// whatIsIt returns why the file is no log of this version, or nil if it is one.
func (lo *lookout) whatIsIt() error {
	empty, err := inspect(lo.writer.conn)
	if err == nil && empty {
		return &engine.StorageError{
			Fault: engine.Foreign, Op: "write", Path: lo.writer.conn.Path,
			Hint: "the file was emptied while the bus ran: stop the program, restore a backup, and start it again",
		}
	}
	if err == nil {
		err = upToDate(lo.writer.conn)
	}
	return err
}

// cursorsAreOurs tells whether the positions in the file are those that this
// process has written. A backup that differs in nothing else does so in them.
func (lo *lookout) cursorsAreOurs() (same bool, err error) {
	ours := map[int64]int64{}
	for _, c := range lo.consumers.all() {
		c.mu.Lock()
		ours[c.id] = c.cursor
		c.mu.Unlock()
	}
	err = lo.writer.conn.Query("SELECT id, cursor FROM busgen_subscriptions", func(s *sqlite3.Stmt) error {
		if cursor, ok := ours[s.ColumnInt64(0)]; ok && cursor == s.ColumnInt64(1) {
			delete(ours, s.ColumnInt64(0))
		}
		return nil
	})
	return len(ours) == 0, err
}
