package buslog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// A view is of one stream, and is never ahead of it. If the stream is deleted and made anew, or
// if the servers come back with less than they have acknowledged, the view is worth nothing: new
// events have old numbers, and no condition holds any more. So every look at the stream compares, and the reader looks when it has to
// begin again. Then the log is broken: every call fails, and nothing is handed out.
//
// What one server says about that is no proof: a leader that was deposed goes on answering for
// as long as it is cut off, with what it knows. But only the leader can store something. So before
// the log is broken this process stores a note, and the number of the acknowledgement is the true
// one. Each other acknowledgement is compared, too.

// missingTime is for how long the servers must say that they do not have the stream: nothing can be
// stored in one that is deleted.
const missingTime = 20 * time.Second

// wrongAgain is how often they are asked while something seems to be wrong.
const wrongAgain = time.Second

// notedTime is how often a note is stored at most meanwhile.
const notedTime = 20 * time.Second

// noteTime is how long a note is kept.
const noteTime = time.Minute

// ended is the error for who uses the log when it is closed or broken.
func (l *Log) ended() error {
	if why := l.broken.Load(); why != nil {
		return why
	}
	return engine.ErrClosed
}

// fail makes the log broken. The caller holds mu.
func (l *Log) fail(why *event.StorageError) {
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
	close(l.stopped) // others take over what it has, see isIdle
	l.wakeAll()
}

// replaced returns the error of a log that is not the one which was opened.
func replaced(what, hint string) *event.StorageError {
	return &event.StorageError{Fault: event.Replaced, Err: errors.New(what), Hint: hint}
}

// known returns the newest number that this process knows.
func (l *Log) known() int64 { return max(l.come.Load(), l.stored.Load()) }

// append stores messages, as [stream.Stream.Append] does, and compares.
func (l *Log) append(ctx context.Context, msgs ...*stream.Msg) (first int64, err error) {
	before := l.known()
	first, known, err := l.stream.Append(ctx, msgs...)
	if err == nil && !known {
		l.acknowledged(first, before)
	}
	return first, err
}

// acknowledged compares the number of what the servers have just stored with the newest one that
// this process knew before it was sent. This is what the leader says, and no other server can.
func (l *Log) acknowledged(first, before int64) {
	if first > before {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fail(replaced(fmt.Sprintf("the servers had messages up to number %d only, and this process knew of number %d: "+
		"they have lost what they had acknowledged, or an older copy of the stream was restored", first-1, before),
		"start the program again to go on with what is there; with sync_interval: always in their jetstream settings the servers lose nothing"))
}

// note stores something, and returns its number. Only the leader can acknowledge it.
func (l *Log) note(ctx context.Context) (int64, error) {
	return l.append(ctx, &stream.Msg{Subject: l.subject(calledToken, l.instance, "note"), Only: true, TTL: noteTime})
}

// state asks about the stream, and compares. The error matches [stream.ErrBehind] if whoever has
// answered has less than this process knows.
func (l *Log) state(ctx context.Context) (stream.State, error) {
	before := l.known()
	now, err := l.stream.State(ctx)
	if err != nil {
		return now, err
	}
	l.mu.Lock()
	if !now.Created.Equal(l.created) {
		l.fail(replaced("the stream was deleted while the bus ran, and another one was made in its place", "start the program again to go on with that one"))
	}
	l.mu.Unlock()
	switch {
	case l.isClosed():
		return now, l.ended()
	case now.Last < before:
		go l.verify()
		return now, stream.ErrBehind
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
	var missing, noted time.Time // since when it has seemed to be deleted; and when a note was stored
	for !l.isClosed() {
		what, err := l.wrong()
		if what == nil && err == nil {
			break
		}
		if !errors.Is(err, stream.ErrNoStream) {
			missing = time.Time{}
		}
		switch now := time.Now(); {
		case errors.Is(err, stream.ErrNoStream) && missing.IsZero():
			missing = now
		case errors.Is(err, stream.ErrNoStream) && now.Sub(missing) >= missingTime:
			what = replaced("the stream was deleted while the bus ran", "restore a backup, and start the program again")
		case (what != nil || errors.Is(err, stream.ErrBehind)) && now.Sub(noted) >= notedTime:
			if _, err := l.note(context.Background()); err != nil {
				what = nil // nobody knows
				break
			}
			noted = now
			what, _ = l.wrong() // the leader has everything that was stored before the note
		default:
			what = nil
		}
		if what != nil {
			l.mu.Lock()
			l.fail(what)
			l.mu.Unlock()
		}
		select {
		case <-time.After(wrongAgain):
		case <-l.stopped:
		}
	}
	l.mu.Lock()
	l.verifying = false
	l.mu.Unlock()
}

// wrong returns why the stream seems to be another one. An error says that nobody knows, or, if it
// matches [stream.ErrBehind] or [stream.ErrNoStream], what one server has said.
func (l *Log) wrong() (*event.StorageError, error) {
	ctx := context.Background()
	l.mu.Lock()
	id := l.registry.Log
	l.mu.Unlock()
	if _, err := l.state(ctx); err != nil {
		return nil, err
	}
	m, err := l.stream.LastOf(ctx, l.subject(registryToken))
	var r registry
	switch {
	case errors.Is(err, stream.ErrNotFound) && id != uuid.Nil:
		l.mu.Lock()
		rev := l.registryRev
		l.mu.Unlock()
		l.restore(ctx, l.subject(registryToken), rev)
		return nil, nil
	case err != nil:
		return nil, err
	case json.Unmarshal(m.Data, &r) == nil:
		return l.refuses(&r, id), nil
	}
	return nil, nil
}

// refuses returns why a registry is not of this log, or is of a newer program, or nil.
func (l *Log) refuses(r *registry, id uuid.UUID) *event.StorageError {
	switch {
	case r.Format > format:
		return &event.StorageError{Fault: event.TooNew, Err: errors.New("a newer program has changed its records"), Hint: "use the version of busgen that has written it"}
	case id != uuid.Nil && r.Log != uuid.Nil && r.Log != id:
		return replaced("the records of another bus were put in their place while the bus ran", "start the program again to go on with that one")
	}
	return nil
}
