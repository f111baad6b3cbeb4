package sqlite

import (
	"bytes"
	"cmp"
	"errors"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/beat"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/tables"
)

// lookout notices what other processes do to the file. It belongs to who has the writer's turn, but for what is atomic.
type lookout struct {
	*ground
	writer    *writer
	consumers *consumers

	watch   atomic.Bool             // look for the writes of other processes
	foreign atomic.Pointer[foreign] // an event of a transaction of the program; nil for none

	looked  time.Time     // when it last looked
	cared   time.Time     // when it last did more than look at the version
	seen    database.Head // of the index, when the version was seen
	version int64         // PRAGMA data_version, as last seen
	known   lineage       // of the log
}

// watchOthers makes the writer look for the writes of other processes.
func (lo *lookout) watchOthers() {
	lo.watch.Store(true)
	lo.writer.signal()
}

// rest returns for how long there is nothing to look for.
func (lo *lookout) rest() time.Duration {
	if !lo.watch.Load() {
		return time.Hour
	}
	return lo.until()
}

// isTime reports whether it is time to look, and that it is being done.
func (lo *lookout) isTime() bool {
	if published := lo.gate.published.Swap(false); !lo.watch.Load() || !published && lo.until() > 0 {
		return false
	}
	lo.looked = time.Now()
	return true
}

// cares reports whether it is time to do more than look at the version, and that it is being done.
func (lo *lookout) cares() bool {
	if !beat.Passed(lo.cared, pollDelay) {
		return false
	}
	lo.cared = lo.looked
	return true
}

// news reports whether others have written since it was asked last.
func (lo *lookout) news() bool {
	head := lo.head.Read() // before the version: what is written meanwhile is for the next look
	if head == lo.seen && head != (database.Head{}) {
		return false
	}
	version, err := lo.dataVersion()
	if err != nil {
		return false
	}
	lo.seen = head
	if version == lo.version {
		return false
	}
	lo.version = version
	return true
}

// forget makes the next look find news, and the next transaction look at the log.
func (lo *lookout) forget() {
	lo.seen, lo.version, lo.known.version = database.Head{}, -1, -1 // which no version is
}

// foreign is the last event that was stored in a transaction of the program, on a connection
// of its own. Nobody tells when it commits, because hooks would take the place of the program's.
// So the writer looks for it often, and less often the longer it takes.
type foreign struct {
	seq int64
	id  uuid.UUID
	at  time.Time
}

const (
	// foreignDelay is how often the writer looks at first,
	foreignDelay = time.Millisecond
	// foreignEager and for how long.
	foreignEager = time.Second
	// foreignShare is which part of the time that has passed it waits later.
	foreignShare = 100
)

// expect makes the writer look for an event that may soon be committed.
func (lo *lookout) expect(seq int64, id uuid.UUID) {
	lo.foreign.Store(&foreign{seq, id, time.Now()})
	lo.writer.signal()
}

// until returns how long it is until the writer looks for the writes of others.
func (lo *lookout) until() time.Duration {
	delay := lo.pollDelay()
	switch {
	case delay < pollDelay:
		return max(0, delay-time.Since(lo.looked))
	case beat.Passed(lo.looked, pollDelay):
		return 0
	}
	return beat.Until(pollDelay)
}

// pollDelay is how often the writer looks for the writes of others.
func (lo *lookout) pollDelay() time.Duration {
	f := lo.foreign.Load()
	if f == nil {
		return pollDelay
	}
	since := time.Since(f.at)
	switch {
	case since < foreignEager:
		return foreignDelay
	case since/foreignShare < pollDelay:
		return since / foreignShare
	}
	lo.foreign.CompareAndSwap(f, nil)
	return pollDelay
}

// arrived ends the looking if others have written the event, or something else in its place. It
// runs after they have written.
func (lo *lookout) arrived() {
	f := lo.foreign.Load()
	if f == nil {
		return
	}
	last, err := lo.writer.conn.Int64("SELECT max(seq) FROM busgen_log")
	if err == nil && last >= f.seq { // while its transaction is open nobody else writes
		lo.foreign.CompareAndSwap(f, nil)
	}
}

// overtaken ends the looking if this process could write, and nobody has before: the transaction is
// gone. It runs within a transaction of the writer.
func (lo *lookout) overtaken() {
	f := lo.foreign.Load()
	if f == nil {
		return
	}
	if version, err := lo.dataVersion(); err == nil && version == lo.version {
		lo.foreign.CompareAndSwap(f, nil)
	}
}

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
// is errRestored, an *event.OwnedError, or that of a file that is no longer ours.
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
		return &event.OwnedError{Path: lo.writer.conn.Path, PID: pid, Since: time.UnixMicro(since).UTC()}
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
	empty, err := tables.Inspect(lo.writer.conn)
	if err == nil && empty {
		return &event.StorageError{
			Fault: event.Foreign, Op: "write", Path: lo.writer.conn.Path,
			Hint: "the file was emptied while the bus ran: stop the program, restore a backup, and start it again",
		}
	}
	if err == nil {
		err = tables.UpToDate(lo.writer.conn)
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
