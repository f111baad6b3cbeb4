package buslog

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// An administrator can delete what is the bus's: with nats stream purge, which takes a filter, or nats stream rmm. This
// process has the newest of all records in its view. It stores them again: the registry, without which no bus can open
// the stream, and the cursors and rows of what it handles some seconds later, others when it is about to replace them.
// Of an old row it has no copy, and makes it from the event, without the attempts. Events that were deleted and are not
// in memory are lost, and old rows with them.

// recordsTime is how long after something was stored a process looks whether its records are there. An idle one does not.
const recordsTime = 5 * time.Second

// rowTime is how long the pause between two looks at the rows is at least, for each of them: the servers list all of them.
const rowTime = 2 * time.Millisecond

// lookSoon makes the log look at its records a while after something has happened.
func (f *follower) lookSoon() {
	if !f.looking.Load() && f.looking.CompareAndSwap(false, true) {
		time.AfterFunc(recordsTime, f.lookAtRecords)
	}
}

// lookAtRecords looks whether the registry is there, and the cursors of what this process handles.
func (f *follower) lookAtRecords() {
	f.looking.Store(false)
	if f.isClosed() {
		return
	}
	if what, err := f.wrong(); what != nil || err != nil {
		go f.verify()
		return
	}
	f.mu.Lock()
	revs := map[string]int64{}
	for _, s := range f.listening {
		for at := range s.parts {
			if p := &s.parts[at]; p.rev > 0 && (p.Owner == "" || s.listener.owned(at)) {
				revs[f.cursorSubject(s.ID, at)] = p.rev
			}
		}
	}
	f.mu.Unlock()
	if len(revs) > 0 {
		f.eachDeleted(f.subject(cursorToken, ">"), revs, func(subject string, rev int64) { f.restore(context.Background(), subject, rev) })
	}
	f.lookAtRows()
}

// eachDeleted calls f with each of the records, which a filter matches, that are there no more.
func (f *follower) eachDeleted(filter string, revs map[string]int64, each func(subject string, rev int64)) {
	there, last, err := f.stream.Subjects(context.Background(), filter)
	if err != nil {
		return
	}
	maps.DeleteFunc(revs, func(subject string, rev int64) bool { return there[subject] > 0 || last < rev })
	// What the bus itself deletes has a newer record first.
	if len(revs) > 0 && f.sync(context.Background()) == nil {
		for subject, rev := range revs {
			each(subject, rev)
		}
	}
}

// lookAtRows looks whether the rows are there of what this process handles.
func (f *follower) lookAtRows() {
	f.mu.Lock()
	n, subs := 0, map[string]map[string]int64{}
	for _, s := range f.listening {
		n += len(s.rows)
	}
	if n == 0 || time.Since(f.rowLook) < time.Duration(n)*rowTime {
		f.mu.Unlock()
		return
	}
	f.rowLook = time.Now()
	for id, s := range f.listening {
		revs := map[string]int64{}
		for seq, r := range s.rows {
			if s.listener.has(r.slot()) {
				revs[f.rowSubject(id, seq)] = r.rev
			}
		}
		if len(revs) > 0 {
			subs[f.subject(rowToken, id, ">")] = revs
		}
	}
	f.mu.Unlock()
	restored, lost := 0, 0
	for filter, revs := range subs {
		f.eachDeleted(filter, revs, func(subject string, rev int64) {
			switch again, gone := f.storeAgain(context.Background(), subject, rev); {
			case again:
				restored++
			case gone:
				lost++
			}
		})
	}
	if restored+lost > 0 {
		f.logger.Error("somebody has deleted records of deliveries, which wait or are dead letters", "restored", restored, "lost", lost)
	}
}

// lookForDeleted looks which of the records that a batch replaces are not there any more, so that it is refused.
func (f *follower) lookForDeleted(ctx context.Context, msgs []*stream.Msg) {
	for _, m := range msgs {
		if m.Expect == nil || *m.Expect == 0 {
			continue
		}
		if _, err := f.stream.LastOf(ctx, m.Subject); !errors.Is(err, stream.ErrNotFound) {
			continue
		}
		if f.sync(ctx) == nil { // so that the view knows of those that the bus itself has deleted
			f.restore(ctx, m.Subject, *m.Expect)
		}
	}
}

// restore stores a record of the view again that was deleted, unless another process has, and says so.
func (f *follower) restore(ctx context.Context, subject string, rev int64) {
	switch restored, lost := f.storeAgain(ctx, subject, rev); {
	case restored:
		f.logger.Error("somebody has deleted a record of the bus; it is stored again", "subject", subject, "seq", rev)
	case lost:
		f.logger.Error("somebody has deleted a record of the bus, and this process does not have it; it is lost", "subject", subject, "seq", rev)
	}
}

// storeAgain stores a record of the view again. It reports neither if another process has, or the servers do not
// answer.
func (f *follower) storeAgain(ctx context.Context, subject string, rev int64) (restored, lost bool) {
	f.mu.Lock()
	data, known := f.recordOf(ctx, subject, rev)
	f.mu.Unlock()
	if !known || data == nil {
		return false, known
	}
	_, err := f.append(ctx, &stream.Msg{Subject: subject, Data: data, Only: true, Expect: stream.Expecting(0)})
	return err == nil, false
}

// recordOf returns a record of the view, if it is still the one of that number; nil if it is not in memory: then the
// view forgets it.
func (rd *reader) recordOf(ctx context.Context, subject string, rev int64) (data []byte, known bool) {
	var record any
	at := int64(0)
	switch kind, rest := split(subject); kind {
	case cursorToken:
		id, part, ok := splitCursor(rest)
		if s := rd.subs[id]; ok && s != nil {
			record, at = &s.parts[part].cursor, s.parts[part].rev
		}
	case rowToken:
		s, seq, ok := rd.splitRow(rest)
		if !ok || s.rows[seq] == nil || s.rows[seq].rev != rev {
			return nil, false
		}
		r := s.rows[seq]
		whole := rd.inMemory(r)
		if whole == nil {
			e, err := rd.event(ctx, seq)
			if s.rows[seq] != r || err != nil && !errors.Is(err, stream.ErrNotFound) {
				return nil, false
			}
			whole = r.with(e)
		}
		if whole != nil {
			return rd.rowData(whole), true
		}
		s.countNewer(r, -1)
		s.countCancelled(r, -1)
		delete(s.rows, seq)
		return nil, true
	case registryToken:
		record, at = rd.registry, rd.registryRev
	case memberToken:
		record, at = rd.members, rd.membersRev
	case timeToken:
		record, at = rd.schedules, rd.timesRev
	case activityToken:
		record, at = rd.activity, rd.activityRev
	case requestToken:
		record, at = rd.requests, rd.requestsRev
	}
	if record == nil || at != rev {
		return nil, false
	}
	data, _ = json.Marshal(record)
	return data, true
}

// with returns a row of which only a part is left, with its event; nil if that is not there.
func (r *row) with(e *engine.Record) *row {
	if e == nil {
		return nil
	}
	whole := *r
	whole.isPart, whole.Tries, whole.lastKind, whole.History = false, 0, "", 0
	whole.Payload, whole.Metadata = e.Payload, e.Metadata
	return &whole
}
