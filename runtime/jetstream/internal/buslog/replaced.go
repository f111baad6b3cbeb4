package buslog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// A view is of one stream, and is never ahead of it. If the stream is deleted and made anew,
// if its records are purged, or if the servers come back with less than they have
// acknowledged, the view is worth nothing: new events have old numbers, and no condition
// holds any more. So every look at the stream compares, and the reader looks when it has to
// begin again. Then the log is broken: every call fails, and nothing is handed out.

// behindTime is for how long the servers may have less than this process has seen. A leader
// that was deposed and does not know it yet has less for a moment.
const behindTime = 20 * time.Second

// behindAgain is how often they are asked meanwhile.
const behindAgain = time.Second

// ended is the error for who uses the log when it is closed or broken.
func (l *Log) ended() error {
	if why := l.broken.Load(); why != nil {
		return why
	}
	return engine.ErrClosed
}

// fail makes the log broken. The caller holds mu.
func (l *Log) fail(why *engine.StorageError) {
	if l.closed {
		return
	}
	why.Op, why.Path = "use", l.target
	l.broken.Store(why)
	l.logger.Error("the bus has stopped: its event log cannot be used any more", "error", why)
	for _, u := range l.units {
		for at := range u.parts {
			u.lose(at)
		}
	}
	l.closed = true
	if l.mute != nil { // others take over what it has
		go l.mute()
	}
	close(l.stopped)
	l.wakeAll()
}

// replaced returns the error of a log that is not the one which was opened.
func replaced(what, hint string) *engine.StorageError {
	return &engine.StorageError{Fault: engine.Replaced, Err: errors.New(what), Hint: hint}
}

// state asks the leader about the stream, and compares.
func (l *Log) state(ctx context.Context) (stream.State, error) {
	l.mu.Lock()
	seen := max(l.received, l.stored.Load())
	l.mu.Unlock()
	now, err := l.stream.State(ctx)
	if err != nil {
		return now, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case !now.Created.Equal(l.created):
		l.fail(replaced("the stream was deleted while the bus ran, and another one was made in its place", "start the program again to go on with that one"))
	case now.Last < seen:
		go l.verify()
	}
	if l.closed {
		return now, l.ended()
	}
	return now, nil
}

// verify looks whether the stream is still the one that was opened, and goes on while it
// seems that it is not.
func (l *Log) verify() {
	l.mu.Lock()
	if l.verifying || l.closed {
		l.mu.Unlock()
		return
	}
	l.verifying = true
	l.mu.Unlock()
	var since time.Time // it has seemed so
	for !l.isClosed() {
		what, err := l.wrong()
		if what == nil && err == nil {
			break
		}
		l.mu.Lock()
		switch {
		case what == nil: // nobody knows
		case since.IsZero():
			since = time.Now()
		case time.Since(since) >= behindTime:
			l.fail(what)
		}
		l.mu.Unlock()
		select {
		case <-time.After(behindAgain):
		case <-l.stopped:
		}
	}
	l.mu.Lock()
	l.verifying = false
	l.mu.Unlock()
}

// wrong returns why the stream seems to be another one. An error says that the servers have
// not answered.
func (l *Log) wrong() (*engine.StorageError, error) {
	ctx := context.Background()
	l.mu.Lock()
	seen, id := max(l.received, l.stored.Load()), l.registry.Log
	l.mu.Unlock()
	now, err := l.state(ctx)
	switch {
	case errors.Is(err, stream.ErrNoStream):
		return replaced("the stream was deleted while the bus ran", "restore a backup, and start the program again"), nil
	case err != nil:
		return nil, err
	case now.Last < seen:
		return replaced(fmt.Sprintf("the servers have messages up to number %d only, and this process knows of number %d: "+
			"they have lost what they had acknowledged, or an older copy of the stream was restored", now.Last, seen),
			"start the program again to go on with what is there; with sync_interval: always in their jetstream settings the servers lose nothing"), nil
	}
	m, err := l.stream.LastOf(ctx, l.subject(registryToken))
	var r registry
	switch {
	case errors.Is(err, stream.ErrNotFound) && id != uuid.Nil:
		return replaced("the stream was purged while the bus ran", "restore a backup, or delete the stream, and start the program again"), nil
	case err != nil:
		return nil, err
	case json.Unmarshal(m.Data, &r) == nil:
		return l.refuses(&r, id), nil
	}
	return nil, nil
}

// refuses returns why a registry is not of this log, or is of a newer program, or nil.
func (l *Log) refuses(r *registry, id uuid.UUID) *engine.StorageError {
	switch {
	case r.Format > format:
		return &engine.StorageError{Fault: engine.TooNew, Err: errors.New("a newer program has changed its records"), Hint: "use the version of busgen that has written it"}
	case id != uuid.Nil && r.Log != uuid.Nil && r.Log != id:
		return replaced("the records of another bus were put in their place while the bus ran", "start the program again to go on with that one")
	}
	return nil
}
