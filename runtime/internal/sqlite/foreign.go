package sqlite

import (
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/beat"
)

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
func (w *writer) expect(seq int64, id uuid.UUID) {
	w.foreign.Store(&foreign{seq, id, time.Now()})
	w.signal()
}

// untilLook returns how long it is until the writer looks for the writes of others.
func (w *writer) untilLook() time.Duration {
	delay := w.pollDelay()
	switch {
	case delay < pollDelay:
		return max(0, delay-time.Since(w.looked))
	case beat.Passed(w.looked, pollDelay):
		return 0
	}
	return beat.Until(pollDelay)
}

// pollDelay is how often the writer looks for the writes of others.
func (w *writer) pollDelay() time.Duration {
	f := w.foreign.Load()
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
	w.foreign.CompareAndSwap(f, nil)
	return pollDelay
}

// arrived ends the looking if others have written the event, or something else in its place. It
// runs after they have written.
func (w *writer) arrived() {
	f := w.foreign.Load()
	if f == nil {
		return
	}
	last, err := w.conn.Int64("SELECT max(seq) FROM busgen_log")
	if err == nil && last >= f.seq { // while its transaction is open nobody else writes
		w.foreign.CompareAndSwap(f, nil)
	}
}

// overtaken ends the looking if this process could write, and nobody has before: the transaction is
// gone. It runs within a transaction of the writer.
func (w *writer) overtaken() {
	f := w.foreign.Load()
	if f == nil {
		return
	}
	if version, err := w.dataVersion(); err == nil && version == w.version {
		w.foreign.CompareAndSwap(f, nil)
	}
}
