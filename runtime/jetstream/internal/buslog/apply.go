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
func (f *follower) arrived(reader int, all []stream.Stored) {
	f.mu.Lock()
	if reader != f.following.reader {
		f.mu.Unlock()
		return
	}
	for _, m := range all {
		if !f.closed && m.Seq > f.received {
			f.receive(m)
		}
	}
	f.come.Store(f.received)
	f.lookSoon()
	if len(f.reaching) > 0 {
		f.noteReached()
	}
	tell := f.pausesNew || f.requestsNew
	f.mu.Unlock()
	if tell {
		f.teller.tell()
	}
}

// receive takes a message.
func (f *follower) receive(m stream.Stored) {
	batch := first(m.Header, batchHeader)
	if len(f.batch) > 0 && batch != first(f.batch[0].Header, batchHeader) {
		if isHalf(f.batch[len(f.batch)-1], m) {
			f.passHalf()
		} else {
			f.applyBatch() // its last message is replaced by a newer one
		}
	}
	f.received = m.Seq
	if f.space.limit > 0 {
		f.space.arrived += sizeOf(m)
	}
	complete := batch == "" || first(m.Header, commitHeader) != ""
	if f.batch = append(f.batch, m); complete || !f.followsAll.Load() { // which is not sent the others
		f.applyBatch()
	}
}

// applyBatch makes the messages that have arrived part of the view.
func (v *logView) applyBatch() {
	for _, m := range v.batch {
		if err := v.apply(m); err != nil {
			v.pass(m, err)
		}
		v.applied = m.Seq
	}
	clear(v.batch)
	v.batch = v.batch[:0]
}

// apply makes a message part of the view.
func (v *logView) apply(m stream.Stored) error {
	kind, rest := split(m.Subject)
	switch kind {
	case eventToken:
		r, err := eventOf(m)
		if err == nil {
			v.applyEvent(r)
		}
		return err
	case registryToken:
		if m.Seq <= v.registryRev {
			return nil
		}
		var r registry
		if err := json.Unmarshal(m.Data, &r); err != nil {
			return err
		}
		if r.Format < 1 {
			return errors.New("it is no record of subscriptions")
		}
		if why := r.refusedBy(v.registry.Log); why != nil {
			v.fail(why)
			return nil
		}
		r.resolve(m.Seq)
		v.registry, v.registryRev = r, m.Seq
		v.registryChanged()
	case cursorToken:
		id, at, ok := splitCursor(rest)
		if !ok {
			return fmt.Errorf("nothing is known of the part %q", rest)
		}
		var c cursor
		if sent := v.subs[id].sent(at, m.Data); sent != nil {
			c = *sent
		} else if err := json.Unmarshal(m.Data, &c); err != nil {
			return err
		}
		if c.N < 1 {
			return errors.New("it is no cursor")
		}
		s := v.sub(id)
		if m.Seq <= s.parts[at].rev {
			return nil
		}
		if c.Next < s.parts[at].Next {
			s.clear = 0
		}
		s.parts[at] = part{c, m.Seq}
		if v.heard(c.By); s.listener != nil {
			s.listener.cursorChanged(at)
		}
		v.noteSettled()
	case rowToken:
		return v.applyRow(rest, m)
	case askToken:
		return v.applyAsk(rest, m)
	case auditToken:
		var e event.AuditEntry
		if err := json.Unmarshal(m.Data, &e); err != nil {
			return err
		}
		if v.lastEntry = max(v.lastEntry, e.ID); v.allRows {
			v.audit[e.ID] = e
		}
	case schemaToken:
		var s schema
		if err := json.Unmarshal(m.Data, &s); err != nil {
			return err
		}
		v.schemas[m.Subject] = s
	case memberToken:
		before := v.members.Processes
		err := newer(m, &v.membersRev, &v.members)
		for instance := range v.members.Processes {
			if _, known := before[instance]; !known {
				v.heard(instance)
			}
		}
		v.lack()
		return err
	case timeToken:
		return newer(m, &v.timesRev, &v.schedules)
	case limitToken:
		return v.applyLimit(rest, m)
	case activityToken:
		return newer(m, &v.activityRev, &v.activity)
	case requestToken:
		v.requestsNew = true
		return newer(m, &v.requestsRev, &v.requests)
	case pruneToken:
		var p pruned
		if err := json.Unmarshal(m.Data, &p); err != nil {
			return err
		}
		v.applyPruned(p)
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
