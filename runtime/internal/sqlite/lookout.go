package sqlite

import (
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/beat"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
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

// forget makes the next look find news.
func (lo *lookout) forget() {
	lo.seen, lo.version = database.Head{}, -1 // which no version is
}

// renewed is told that the connection is another one, to which the versions are others: the log is looked at.
func (lo *lookout) renewed() {
	lo.forget()
	lo.known.version = -1
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

// untilLook returns how long it is until the writer looks for the writes of others.
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
