package buslog

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/fingerprint"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// lookUp asks for the idempotency keys of staged records. It fails if the servers do not say
// what they know of one: then it is unknown whether the record is to be stored.
func (st *storing) lookUp(taken []*flight) (lookedUp, error) {
	found := lookedUp{}
	for _, f := range taken {
		for i := range f.how.Staged {
			r := f.how.Staged[i]
			if r.Dedupe == nil || r.Duplicate {
				continue
			}
			err := st.in.recognise(context.Background(), &r)
			if conflict := (*event.ConflictError)(nil); err != nil && !errors.As(err, &conflict) {
				return nil, err
			}
			k := known{err: err}
			if r.Duplicate {
				k.first = r.ID
			}
			found[&f.how.Staged[i]] = k
		}
	}
	return found, nil
}

// makePlan returns the batch that stores how deliveries have ended. It keeps the slice of them.
func (u *unit) makePlan(taken []*flight, keys lookedUp, asked map[int64]*engine.Record) *plan {
	h := u.in
	p := &plan{changes: u.changes, cursors: map[int]*cursor{}, flights: taken[:0], apart: u.storesApart(taken)}
	stagedKeys, parts := engine.Keys{}, map[int]bool{}
	last := -1
	for _, f := range taken {
		if f.known {
			f.plan = p
		}
	}
	for _, f := range taken {
		seq, at := f.record.Seq, u.sub.at(f.slot())
		if !f.known { // another process has taken its part over meanwhile
			continue
		}
		p.flights = append(p.flights, f)
		if at != last { // they are mostly the same
			parts[at], last = true, at
		}
		if s := &u.parts[at]; seq > s.top {
			s.top = seq
		}
		if u.plain(f) {
			continue
		}
		r, effects := u.rowOf(f)
		for i := range f.how.Staged {
			if one := &f.how.Staged[i]; !one.IfWanted || !effects.NoNotice {
				u.stage(p, one, keys, stagedKeys)
			}
		}
		if r != nil {
			p.msgs = append(p.msgs, h.rowMsg(u.sub.ID, r, u.sub.revOf(r.Seq)))
		}
	}
	p.msgs = append(p.msgs, u.answers(p, asked, parts)...)
	if u.busyMode && u.isCalm() {
		u.setBusy(false)
	}
	all := u.positions(p)
	for _, at := range u.sub.live() {
		s := &u.parts[at]
		if !s.owned {
			continue
		}
		left := s.leaving && u.quiet(at, p)
		if at == whole || parts[at] || left || s.touched > s.stored || s.busy != u.busyMode || all[at].next > u.sub.nextAt(at)+behind {
			c := u.cursorOf(at, &all[at], left)
			p.cursors[at] = c
			s.busy = s.busy && c.Busy // a handler that begins while it is on its way is not covered by the last one
			msg := h.cursorMsg(u.sub, at, c, u.sub.parts[at].rev)
			p.msgs, p.sent = append(p.msgs, msg), append(p.sent, sentCursor{at, msg.Data})
		}
	}
	return p
}

// storesApart reports whether the cursors of the parts are stored by a message each, because nothing else is to be
// stored: a server that has no others syncs its disk several times for an atomic batch, and not at all for a message.
// That a delivery was freed is stored no later than what ended after that, in whatever part.
func (rd *reading) storesApart(taken []*flight) bool {
	return rd.sub.divided() && len(rd.sub.asks) == 0 && !rd.storesFreed() && rd.in.stream.IsAlone() &&
		!slices.ContainsFunc(taken, func(f *flight) bool { return !rd.plain(f) })
}

// behind is how many events without anything for it a part passes before that is stored.
const behind = 4096

// stage adds an event that a handler has published.
func (st *storing) stage(p *plan, r *engine.Record, keys lookedUp, staged engine.Keys) {
	h := st.in
	if r.Duplicate || r.IfWanted && !h.wanted(r.Type) {
		return
	}
	if r.Dedupe == nil {
		p.msgs = append(p.msgs, h.eventMsg(r))
		return
	}
	first, err := r.ID, keys[r].err
	if k := keys[r]; k.first != uuid.Nil {
		first = k.first
	} else if err == nil {
		same := *r
		err = staged.Recognise(&same)
		first = same.ID
	}
	if tell := r.Dedupe.Settled; tell != nil {
		p.told = append(p.told, func() { tell(first, err) })
	}
	if err == nil && first == r.ID {
		if msg, err := h.keyMsg(r); err == nil {
			p.msgs = append(p.msgs, msg, h.eventMsg(r))
		}
	}
}

// cursorMsg returns the message of a cursor. It is refused if the cursor has changed since rev.
func (c *conn) cursorMsg(s *sub, at int, one *cursor, rev int64) *stream.Msg {
	data, _ := json.Marshal(one)
	return &stream.Msg{Subject: c.cursorSubject(s.ID, at), Data: data, Only: true, Expect: stream.Expecting(rev)}
}

// shrink looks what to do when a plan is more than the servers accept at once. The next one
// has a single delivery. If that is still too much, the delivery is dead, and what its handler
// has published is dropped: otherwise nothing of the subscription could be stored any more.
// It reports false if there is nothing to drop.
func (u *unit) shrink(p *plan, refusal error) bool {
	h := u.in
	h.mu.Lock()
	switch {
	case !u.alone:
		u.alone, u.plan = true, nil
		h.mu.Unlock()
		return true
	case len(p.flights) == 0 || len(p.flights[0].how.Staged) == 0 || p.flights[0].returns:
		h.mu.Unlock()
		return false
	}
	f := p.flights[0]
	how, consumer := *f.how, f.consumer
	h.mu.Unlock()
	dead := u.oversized(f, how, refusal)
	if how.Kind != engine.Dead && consumer != nil && consumer.note != nil { // else the notice is what is too much
		dead.Staged = consumer.note(&f.delivery, dead)
	}
	for i := range how.Staged {
		if r := &how.Staged[i]; r.Dedupe != nil && r.Dedupe.Settled != nil && !r.Duplicate {
			r.Dedupe.Settled(r.ID, refusal)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	u.parking.remove(f.record.Seq, how.Waitlist, how.Key)
	if f.how, u.plan = &dead, nil; f.known { // else another process has it
		u.touch(f.slot(), true)
	}
	return true
}

// oversized returns the disposition of a delivery whose handler has published too much.
func (st *storing) oversized(f *flight, how engine.Disposition, refusal error) engine.Disposition {
	st.in.logger.Error("an event is dead-lettered: what its handler has published is more than the servers accept at once, and is not stored",
		"subscription_id", st.in.nameOf(st.sub), "event_id", f.record.ID, "events", len(how.Staged), "error", refusal)
	failure := how.Attempt
	if failure == nil {
		failure = &event.FailedAttempt{Kind: event.KindError, Started: f.began().UTC(), Ended: time.Now().UTC(), Error: "publish: " + refusal.Error()}
	}
	return engine.Disposition{
		Kind: engine.Dead, Attempt: failure, Reason: event.ReasonPermanent, Progress: how.Progress,
		// That of a dead letter was made from the visible part of its error.
		Fingerprint: cmp.Or(how.Fingerprint, fingerprint.Of(event.ReasonPermanent, failure.ErrorType, failure.Error, failure.Stack)),
	}
}
