package buslog

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// An administrator can delete what is the bus's: with nats stream purge, which takes a filter, or nats stream rmm.
// Without the registry nobody can open the stream, and what is published goes nowhere, so the bus stops; see replaced.go.
// Of all other records this process has the newest in its view. It stores them again: the cursors of what it handles
// some seconds later, others when it is about to replace them. Events that were deleted and are not in memory are lost.

// recordsTime is how long after something was stored a process looks whether its records are there. An idle one does not.
const recordsTime = 5 * time.Second

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
	if len(revs) == 0 {
		return
	}
	there, last, err := l.stream.Subjects(context.Background(), l.subject(cursorToken, ">"))
	if err != nil {
		return
	}
	for subject, rev := range revs {
		// A server that is behind does not have it yet, and of a subscription that was removed the view knows then.
		if there[subject] == 0 && last >= rev && l.sync(context.Background()) == nil {
			l.restore(context.Background(), subject, rev)
		}
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

// restore stores a record of the view again that was deleted, unless somebody else has.
func (l *Log) restore(ctx context.Context, subject string, rev int64) {
	l.mu.Lock()
	data, known := l.recordOf(subject, rev)
	l.mu.Unlock()
	switch {
	case !known:
	case data == nil:
		l.logger.Error("somebody has deleted a record of the bus, and this process does not have it; it is lost", "subject", subject, "seq", rev)
	default:
		_, err := l.append(ctx, &stream.Msg{Subject: subject, Data: data, Only: true, Expect: stream.Expecting(0)})
		if err == nil {
			l.logger.Error("somebody has deleted a record of the bus; it is stored again", "subject", subject, "seq", rev)
		}
	}
}

// recordOf returns a record of the view, if it is still the one of that number; nil if it is not in memory: then the
// view forgets it. The caller holds mu.
func (l *Log) recordOf(subject string, rev int64) (data []byte, known bool) {
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
		if whole := l.inMemory(r); whole != nil {
			return l.rowData(whole), true
		}
		s.countNewer(r, -1)
		s.countCancelled(r, -1)
		delete(s.rows, seq)
		return nil, true
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
