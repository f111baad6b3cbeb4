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

// An administrator can delete what is the bus's: with nats stream purge, which takes a filter, or nats stream rmm.
// This process has the newest of all records in its view. It stores them again: the registry, without which nobody can open
// the stream, and the cursors and rows of what it handles some seconds later, others when it is about to replace them. Of
// an old row it has no copy, and makes it from the event, without the attempts. Events that were deleted and are not in
// memory are lost, and old rows with them.

// recordsTime is how long after something was stored a process looks whether its records are there. An idle one does not.
const recordsTime = 5 * time.Second

// rowTime is how long the pause between two looks at the rows is at least, for each of them: the servers list all of them.
const rowTime = 2 * time.Millisecond

// lookSoon makes the log look at its records a while after something has happened.
func (l *Log) lookSoon() {
	if !l.looking.Load() && l.looking.CompareAndSwap(false, true) {
		time.AfterFunc(recordsTime, l.lookAtRecords)
	}
}

// lookAtRecords looks whether the registry is there, and the cursors of what this process handles.
func (l *Log) lookAtRecords() {
	l.looking.Store(false)
	if l.isClosed() {
		return
	}
	if what, err := l.wrong(); what != nil || err != nil {
		go l.verify()
		return
	}
	l.mu.Lock()
	revs := map[string]int64{}
	for _, u := range l.units {
		for at := range u.sub.parts {
			if p := &u.sub.parts[at]; p.rev > 0 && (p.Owner == "" || u.parts[at].owned) {
				revs[l.cursorSubject(u.sub.ID, at)] = p.rev
			}
		}
	}
	l.mu.Unlock()
	if len(revs) > 0 {
		l.eachDeleted(l.subject(cursorToken, ">"), revs, func(subject string, rev int64) { l.restore(context.Background(), subject, rev) })
	}
	l.lookAtRows()
}

// eachDeleted calls f with each of the records, which a filter matches, that are there no more.
func (l *Log) eachDeleted(filter string, revs map[string]int64, f func(subject string, rev int64)) {
	there, last, err := l.stream.Subjects(context.Background(), filter)
	if err != nil {
		return
	}
	maps.DeleteFunc(revs, func(subject string, rev int64) bool { return there[subject] > 0 || last < rev })
	// What the bus itself deletes has a newer record first.
	if len(revs) > 0 && l.sync(context.Background()) == nil {
		for subject, rev := range revs {
			f(subject, rev)
		}
	}
}

// lookAtRows looks whether the rows are there of what this process handles.
func (l *Log) lookAtRows() {
	l.mu.Lock()
	n, subs := 0, map[string]map[string]int64{}
	for _, u := range l.units {
		n += len(u.sub.rows)
	}
	if n == 0 || time.Since(l.rowLook) < time.Duration(n)*rowTime {
		l.mu.Unlock()
		return
	}
	l.rowLook = time.Now()
	for id, u := range l.units {
		revs := map[string]int64{}
		for seq, r := range u.sub.rows {
			if u.has(r.slot()) {
				revs[l.rowSubject(id, seq)] = r.rev
			}
		}
		if len(revs) > 0 {
			subs[l.subject(rowToken, id, ">")] = revs
		}
	}
	l.mu.Unlock()
	restored, lost := 0, 0
	for filter, revs := range subs {
		l.eachDeleted(filter, revs, func(subject string, rev int64) {
			switch again, gone := l.storeAgain(context.Background(), subject, rev); {
			case again:
				restored++
			case gone:
				lost++
			}
		})
	}
	if restored+lost > 0 {
		l.logger.Error("somebody has deleted records of deliveries, which wait or are dead letters", "restored", restored, "lost", lost)
	}
}

// lookForDeleted looks which of the records that a batch replaces are not there any more, so that it is refused.
func (l *Log) lookForDeleted(ctx context.Context, msgs []*stream.Msg) {
	for _, m := range msgs {
		if m.Expect == nil || *m.Expect == 0 {
			continue
		}
		if _, err := l.stream.LastOf(ctx, m.Subject); !errors.Is(err, stream.ErrNotFound) {
			continue
		}
		if l.sync(ctx) == nil { // so that the view knows of those that the bus itself has deleted
			l.restore(ctx, m.Subject, *m.Expect)
		}
	}
}

// restore stores a record of the view again that was deleted, unless somebody else has, and says so.
func (l *Log) restore(ctx context.Context, subject string, rev int64) {
	switch restored, lost := l.storeAgain(ctx, subject, rev); {
	case restored:
		l.logger.Error("somebody has deleted a record of the bus; it is stored again", "subject", subject, "seq", rev)
	case lost:
		l.logger.Error("somebody has deleted a record of the bus, and this process does not have it; it is lost", "subject", subject, "seq", rev)
	}
}

// storeAgain stores a record of the view again. It reports neither if somebody else has, or the servers do not answer.
func (l *Log) storeAgain(ctx context.Context, subject string, rev int64) (restored, lost bool) {
	l.mu.Lock()
	data, known := l.recordOf(ctx, subject, rev)
	l.mu.Unlock()
	if !known || data == nil {
		return false, known
	}
	_, err := l.append(ctx, &stream.Msg{Subject: subject, Data: data, Only: true, Expect: stream.Expecting(0)})
	return err == nil, false
}

// recordOf returns a record of the view, if it is still the one of that number; nil if it is not in memory: then the
// view forgets it. The caller holds mu, which is free while the server is asked.
func (l *Log) recordOf(ctx context.Context, subject string, rev int64) (data []byte, known bool) {
	var record any
	at := int64(0)
	switch kind, rest := split(subject); kind {
	case cursorToken:
		id, part, ok := splitCursor(rest)
		if s := l.subs[id]; ok && s != nil {
			record, at = &s.parts[part].cursor, s.parts[part].rev
		}
	case rowToken:
		s, seq, ok := l.splitRow(rest)
		if !ok || s.rows[seq] == nil || s.rows[seq].rev != rev {
			return nil, false
		}
		r := s.rows[seq]
		whole := l.inMemory(r)
		if whole == nil {
			e, err := l.event(ctx, seq)
			if s.rows[seq] != r || err != nil && !errors.Is(err, stream.ErrNotFound) {
				return nil, false
			}
			whole = r.with(e)
		}
		if whole != nil {
			return l.rowData(whole), true
		}
		s.countNewer(r, -1)
		s.countCancelled(r, -1)
		delete(s.rows, seq)
		return nil, true
	case registryToken:
		record, at = l.registry, l.registryRev
	case memberToken:
		record, at = l.members, l.membersRev
	case timeToken:
		record, at = l.schedules, l.timesRev
	case activityToken:
		record, at = l.activity, l.activityRev
	case requestToken:
		record, at = l.requests, l.requestsRev
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
