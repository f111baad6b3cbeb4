package buslog

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// arrived takes the next messages of the stream, unless their reader has ended. Those of a
// batch become part of the view together.
func (l *Log) arrived(reader int, all []stream.Stored) {
	l.mu.Lock()
	if reader != l.following.reader {
		l.mu.Unlock()
		return
	}
	for _, m := range all {
		if !l.closed && m.Seq > l.received {
			l.receive(m)
		}
	}
	l.come.Store(l.received)
	l.lookSoon()
	if len(l.reaching) > 0 {
		l.noteReached()
	}
	tell := l.pausesNew || l.requestsNew
	l.mu.Unlock()
	if tell {
		l.tell()
	}
}

// receive takes a message. The caller holds mu.
func (l *Log) receive(m stream.Stored) {
	batch := first(m.Header, batchHeader)
	if len(l.batch) > 0 && batch != first(l.batch[0].Header, batchHeader) {
		if isHalf(l.batch[len(l.batch)-1], m) {
			l.passHalf()
		} else {
			l.applyBatch() // its last message is replaced by a newer one
		}
	}
	l.received = m.Seq
	if l.space.limit > 0 {
		l.space.arrived += sizeOf(m)
	}
	complete := batch == "" || first(m.Header, commitHeader) != ""
	if l.batch = append(l.batch, m); complete || !l.followsAll.Load() { // which is not sent the others
		l.applyBatch()
	}
}

// applyBatch makes the messages that have arrived part of the view. The caller holds mu.
func (l *Log) applyBatch() {
	for _, m := range l.batch {
		if err := l.apply(m); err != nil {
			l.pass(m, err)
		}
		l.applied = m.Seq
	}
	clear(l.batch)
	l.batch = l.batch[:0]
}

// apply makes a message part of the view. The caller holds mu.
func (l *Log) apply(m stream.Stored) error {
	kind, rest := split(m.Subject)
	switch kind {
	case eventToken:
		r, err := eventOf(m)
		if err == nil {
			l.applyEvent(r)
		}
		return err
	case registryToken:
		if m.Seq <= l.registryRev {
			return nil
		}
		var r registry
		if err := json.Unmarshal(m.Data, &r); err != nil {
			return err
		}
		if r.Format < 1 {
			return errors.New("it is no record of subscriptions")
		}
		if why := l.refuses(&r, l.registry.Log); why != nil {
			l.fail(why)
			return nil
		}
		r.resolve(m.Seq)
		l.registry, l.registryRev = r, m.Seq
		l.registryChanged()
	case cursorToken:
		id, at, ok := splitCursor(rest)
		if !ok {
			return fmt.Errorf("nothing is known of the part %q", rest)
		}
		var c cursor
		u := l.units[id]
		if sent := u.isSent(at, m.Data); sent != nil {
			c = *sent
		} else if err := json.Unmarshal(m.Data, &c); err != nil {
			return err
		}
		if c.N < 1 {
			return errors.New("it is no cursor")
		}
		s := l.sub(id)
		if m.Seq <= s.parts[at].rev {
			return nil
		}
		if c.Next < s.parts[at].Next {
			s.clear = 0
		}
		s.parts[at] = part{c, m.Seq}
		delete(l.dead, c.By)
		if u != nil {
			u.cursorChanged(at)
		}
		l.noteSettled()
	case rowToken:
		return l.applyRow(rest, m)
	case askToken:
		return l.applyAsk(rest, m)
	case auditToken:
		var e event.AuditEntry
		if err := json.Unmarshal(m.Data, &e); err != nil {
			return err
		}
		if l.lastEntry = max(l.lastEntry, e.ID); l.allRows {
			l.audit[e.ID] = e
		}
	case schemaToken:
		var s schema
		if err := json.Unmarshal(m.Data, &s); err != nil {
			return err
		}
		l.schemas[m.Subject] = s
	case memberToken:
		before := l.members.Processes
		err := newer(m, &l.membersRev, &l.members)
		for instance := range l.members.Processes {
			if _, known := before[instance]; !known {
				delete(l.dead, instance)
			}
		}
		l.lack()
		return err
	case timeToken:
		return newer(m, &l.timesRev, &l.schedules)
	case limitToken:
		return l.applyLimit(rest, m)
	case activityToken:
		return newer(m, &l.activityRev, &l.activity)
	case requestToken:
		l.requestsNew = true
		return newer(m, &l.requestsRev, &l.requests)
	case pruneToken:
		var p pruned
		if err := json.Unmarshal(m.Data, &p); err != nil {
			return err
		}
		l.applyPruned(p)
	case keyToken, historyToken, arrivalToken, calledToken, inboxToken: // are read when they are needed
	default:
		return fmt.Errorf("nothing is known of messages %q", kind)
	}
	return nil
}

// newer replaces a record by a newer one.
func newer[T any](m stream.Stored, rev *int64, record *T) error {
	if m.Seq <= *rev {
		return nil
	}
	var fresh T
	if err := json.Unmarshal(m.Data, &fresh); err != nil {
		return err
	}
	*rev, *record = m.Seq, fresh
	return nil
}
