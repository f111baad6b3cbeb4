package buslog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/event"
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

// fail makes the log broken.
func (v *logView) fail(why *event.StorageError) {
	if v.closed {
		return
	}
	why.Op, why.Path = "use", v.target
	v.broken.Store(why)
	v.logger.Error("the bus has stopped: its event log cannot be used any more", "error", why)
	for _, s := range v.listening {
		s.listener.loseAll()
	}
	v.closed = true
	close(v.stopped) // others take over what it has, see isIdle
	v.wakeAll()
}

// replaced returns the error of a log that is not the one which was opened.
func replaced(what, hint string) *event.StorageError {
	return &event.StorageError{Fault: event.Replaced, Err: errors.New(what), Hint: hint}
}

// known returns the newest number that this process knows.
func (f *follower) known() int64 { return max(f.come.Load(), f.stored.Load()) }

// append stores messages, as [stream.Stream.Append] does, and compares.
func (f *follower) append(ctx context.Context, msgs ...*stream.Msg) (first int64, err error) {
	before := f.known()
	first, known, err := f.stream.Append(ctx, msgs...)
	if err == nil && !known {
		f.acknowledged(first, before)
	}
	return first, err
}

// acknowledged compares the number of what the servers have just stored with the newest one that
// this process knew before it was sent. This is what the leader says, and no other server can.
func (f *follower) acknowledged(first, before int64) {
	if first > before {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail(replaced(fmt.Sprintf("the servers had messages up to number %d only, and this process knew of number %d: "+
		"they have lost what they had acknowledged, or an older copy of the stream was restored", first-1, before),
		"start the program again to go on with what is there; with sync_interval: always in their jetstream settings the servers lose nothing"))
}

// note stores something, and returns its number. Only the leader can acknowledge it.
func (f *follower) note(ctx context.Context) (int64, error) {
	return f.append(ctx, &stream.Msg{Subject: f.subject(calledToken, f.instance, "note"), Only: true, TTL: noteTime})
}

// state asks about the stream, and compares. The error matches [stream.ErrBehind] if the server
// that has answered has less than this process knows.
func (f *follower) state(ctx context.Context) (stream.State, error) {
	before := f.known()
	now, err := f.stream.State(ctx)
	if err != nil {
		return now, err
	}
	f.mu.Lock()
	if !now.Created.Equal(f.created) {
		f.fail(replaced("the stream was deleted while the bus ran, and another one was made in its place", "start the program again to go on with that one"))
	}
	f.mu.Unlock()
	switch {
	case f.isClosed():
		return now, f.ended()
	case now.Last < before:
		go f.verify()
		return now, stream.ErrBehind
	}
	return now, nil
}

// verify looks whether the stream is still the one that was opened, and goes on while it
// seems that it is not.
func (f *follower) verify() {
	f.mu.Lock()
	if f.verifying || f.closed {
		f.mu.Unlock()
		return
	}
	f.verifying = true
	f.mu.Unlock()
	var missing, noted time.Time // since when it has seemed to be deleted; and when a note was stored
	for !f.isClosed() {
		what, err := f.wrong()
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
			if _, err := f.note(context.Background()); err != nil {
				what = nil // unknown
				break
			}
			noted = now
			what, _ = f.wrong() // the leader has everything that was stored before the note
		default:
			what = nil
		}
		if what != nil {
			f.mu.Lock()
			f.fail(what)
			f.mu.Unlock()
		}
		select {
		case <-time.After(wrongAgain):
		case <-f.stopped:
		}
	}
	f.mu.Lock()
	f.verifying = false
	f.mu.Unlock()
}

// wrong returns why the stream seems to be another one. An error says that it is unknown, or, if
// it matches [stream.ErrBehind] or [stream.ErrNoStream], what one server has said.
func (f *follower) wrong() (*event.StorageError, error) {
	ctx := context.Background()
	f.mu.Lock()
	id := f.registry.Log
	f.mu.Unlock()
	if _, err := f.state(ctx); err != nil {
		return nil, err
	}
	m, err := f.stream.LastOf(ctx, f.subject(registryToken))
	var r registry
	switch {
	case errors.Is(err, stream.ErrNotFound) && id != uuid.Nil:
		f.mu.Lock()
		rev := f.registryRev
		f.mu.Unlock()
		f.restore(ctx, f.subject(registryToken), rev)
		return nil, nil
	case err != nil:
		return nil, err
	case json.Unmarshal(m.Data, &r) == nil:
		return r.refusedBy(id), nil
	}
	return nil, nil
}

// refusedBy returns why a registry is not of the log of an id, or is of a newer program, or nil.
func (r *registry) refusedBy(id uuid.UUID) *event.StorageError {
	switch {
	case r.Format > format:
		return &event.StorageError{Fault: event.TooNew, Err: errors.New("a newer program has changed its records"), Hint: "use the version of busgen that has written it"}
	case id != uuid.Nil && r.Log != uuid.Nil && r.Log != id:
		return replaced("the records of another bus were put in their place while the bus ran", "start the program again to go on with that one")
	}
	return nil
}
