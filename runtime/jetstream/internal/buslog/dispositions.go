package buslog

import (
	"bytes"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// Settle implements [engine.Settler].
func (c *consumer) Settle(one engine.Settled, others []engine.Settled) {
	if len(others) == 0 && c.settleQuickly(one.Delivery, &one.Disposition) {
		return
	}
	c.unit.in.mu.Lock()
	defer c.unit.in.mu.Unlock()
	c.settle(one.Delivery, one.Disposition)
	for _, other := range others {
		c.settle(other.Delivery, other.Disposition)
	}
}

// settle is Settle for callers that hold mu.
func (c *consumer) settle(d *engine.Delivery, v engine.Disposition) {
	c.calls++
	u, f := c.unit, c.flight(d)
	if f == nil {
		if !c.gone { // its part has moved; the waitlists may have others
			u.freeAll(v.Frees, nil)
		}
		return
	}
	if v.Kind != engine.Done { // which does not come again
		_, e := f.after(&v, v.Cancelled)
		if e.Unchanged {
			u.flights.forget(f)
			u.again(f)
			c.wake()
			return
		}
		f.returns = e.Again
	}
	u.end(f, v)
	u.freeAll(v.Frees, f)
}

// end notes how a delivery has ended.
func (u *unit) end(f *flight, v engine.Disposition) {
	f.ended, f.how = true, &v
	if f.begun && !f.returned {
		u.left[&f.delivery] = claim{Seq: f.record.Seq, ID: f.record.ID, Waits: f.waits, Batch: f.batch, Left: true, Started: f.began(), slot: f.slot()}
	}
	if f.returns {
		u.returning++
		u.back++
	}
	if u.parking.any.Load() || v.Waitlist != "" {
		u.ends(f)
	}
	u.queue = append(u.queue, f)
	u.touch(f.slot(), !u.plain(f) || len(u.queue) >= mostUnstored*3/4)
}

// plain reports whether a delivery has simply gone well: its cursor says all of it.
func (st *storing) plain(f *flight) bool {
	return !f.delayed && !f.ahead && f.how.Kind == engine.Done && f.how.Attempt == nil && len(f.how.Staged) == 0 && st.sub.rows[f.record.Seq] == nil
}

// after returns what becomes of a delivery that ends in this way, by the row that it had when it was polled.
func (f *flight) after(v *engine.Disposition, cancelled bool) (ledger.Next, ledger.Effects) {
	before := ledger.New(f.record)
	if f.row != nil {
		before = f.row.Delivery
	}
	return before.After(f.begun, v, ledger.Moment{Due: v.Due, Cancelled: cancelled})
}

// delay makes a delayed event a row that waits.
func (u *unit) delay(r *engine.Record) {
	u.shut()
	f := &flight{record: r, in: uint8(slotOf(r)), delayed: true}
	u.flights.add(f)
	u.end(f, engine.Disposition{})
}

// rowOf returns the row of a delivery that has ended, or nil if there is nothing to keep and nothing to delete.
func (rd *reading) rowOf(f *flight) (_ *row, effects ledger.Effects) {
	before := rd.wholeOf(f.record.Seq)
	if f.delayed && before != nil { // it was cancelled meanwhile
		return nil, effects
	}
	r := before.orNew(f.record)
	if f.delayed {
		return r, effects
	}
	now := ledger.Moment{Paused: rd.in.typePaused(r.Type)}
	now.Due, now.At = rd.in.clock.putOff(f.how.Due)
	now.Why, now.Cancelled = rd.cancelled(r.Seq)
	if r.Row, effects = r.After(f.begun, f.how, now); effects.Attempt != nil {
		r.Attempts = append(r.Attempts, *effects.Attempt)
	}
	if r.parked() && rd.isFreed(f) {
		r.Row = r.Freed(now.At)
	}
	if r.Answer = ""; r.State == ledger.Done && r.Tries == 0 {
		if before == nil && !f.ahead {
			return nil, effects
		}
		r.gone = !r.Replayed && len(r.Audits) == 0 && !r.Made && r.Seq < rd.nextOf(f.slot())
	}
	return r, effects
}

// plan is what is to be stored together: the dispositions of deliveries, and the cursors of their parts.
type plan struct {
	msgs    []*stream.Msg
	flights []*flight
	cursors map[int]*cursor // by part, that are not stored
	sent    []sentCursor
	changes uint64
	apart   bool     // it has cursors and nothing else, each is a message of its own, and none waits for the others
	told    []func() // callbacks about staged records, in order
}

// sentCursor is a cursor as it is sent.
type sentCursor struct {
	at   int
	data []byte
}

// take takes out what is stored with the cursor of a part: all, unless the cursors are apart.
func (p *plan) take(s *sub, at int) (ended []*flight, cursors map[int]*cursor) {
	if !p.apart {
		ended, cursors, p.flights, p.cursors = p.flights, p.cursors, nil, nil
		return ended, cursors
	}
	if c := p.cursors[at]; c != nil { // else there was nothing to store
		cursors = map[int]*cursor{at: c}
		delete(p.cursors, at)
	}
	left := p.flights[:0]
	for _, f := range p.flights {
		if s.at(f.slot()) == at {
			ended = append(ended, f)
		} else {
			left = append(left, f)
		}
	}
	p.flights = left
	return ended, cursors
}

// isSent returns the cursor of a part if the plan has sent just that, so that it need not be
// decoded.
func (p *plan) isSent(at int, data []byte) *cursor {
	if p != nil {
		for _, one := range p.sent {
			if one.at == at && bytes.Equal(one.data, data) {
				return p.cursors[at]
			}
		}
	}
	return nil
}

// has reports whether the plan has the cursor of a part with this number.
func (p *plan) has(at int, n int64) bool {
	return p != nil && p.cursors[at] != nil && p.cursors[at].N == n
}

// rowMsg returns the message of a row. It is refused if the row has changed since rev; 0 if
// there was none.
func (c *conn) rowMsg(sub string, r *row, rev int64) *stream.Msg {
	m := &stream.Msg{Subject: c.rowSubject(sub, r.Seq), Only: true, Expect: stream.Expecting(rev)}
	if r.gone {
		r, m.TTL = &row{rowEvent: rowEvent{Seq: r.Seq}, gone: true}, goneTime
	}
	m.Data = c.rowData(r)
	return m
}

// goneTime is how long the record of a row that is gone is kept, for processes that read
// the rows at this moment.
const goneTime = time.Minute

// lookedUp is what is known of the idempotency keys of staged records.
type lookedUp map[*engine.Record]known

type known struct {
	first uuid.UUID
	err   error
}

// position is how far a part, or the whole, has come.
type position struct {
	next  int64
	open  []int64
	ran   []claim
	freed []int64
}

// positions returns how far all parts are when a plan is stored. A cursor has a list of the events that have not ended
// only up to the last one that has. It stands at the first one behind that: the process that takes over looks at the
// others again.
func (cs *claims) positions(p *plan) (all [1 + partCount]position) {
	var floor [1 + partCount]int64
	for _, at := range cs.sub.live() {
		floor[at] = max(cs.parts[at].top, cs.sub.nextAt(at)-1)
		switch {
		case at != whole:
			all[at].next = cs.nextOf(at - 1)
		case cs.parts[whole].leaving: // what has come since is for the next owner
			all[at].next = cs.parts[whole].stop
		default:
			all[at].next = cs.next
		}
	}
	add := func(seq int64, slot int) {
		at := cs.sub.at(slot)
		if one := &all[at]; seq <= floor[at] || at == whole && seq < cs.skip[slot%partCount] {
			one.open = append(one.open, seq)
		} else if seq < one.next {
			one.next = seq
		}
	}
	for _, one := range cs.reopen {
		add(one.seq, one.slot)
	}
	simple, none := !cs.sub.divided() && slices.Max(cs.skip[:]) <= floor[whole]+1, len(cs.sub.rows) == 0
	for _, f := range cs.flights.all {
		seq := f.record.Seq
		if simple && none && seq > floor[whole] { // it has not ended, nor have those behind it
			all[whole].next = min(all[whole].next, seq)
			break
		}
		if f.plan != p && cs.sub.rows[seq] == nil && seq < cs.nextOf(f.slot()) {
			add(seq, f.slot())
		}
	}
	cs.freedOf(p, &all)
	cs.atWork = slices.DeleteFunc(cs.atWork, func(f *flight) bool { return !f.known })
	for _, f := range cs.atWork {
		if f.plan != p {
			one := &all[cs.sub.at(f.slot())]
			one.ran = append(one.ran, claim{Seq: f.record.Seq, ID: f.record.ID, Waits: f.waits, Batch: f.batch, Asked: f.asked, Started: f.began()})
		}
	}
	return all
}

// cursorOf returns the next cursor of a part, or of the whole, and if the part is left.
func (cs *claims) cursorOf(at int, position *position, left bool) *cursor {
	c, p := cs.sub.parts[at].cursor, &cs.parts[at]
	p.n = max(p.n, c.N) + 1 // every cursor has a number of its own, stored or not
	c.N, c.By, c.Next, c.Open, c.Ran, c.Freed = p.n, cs.in.instance, position.next, position.open, position.ran, position.freed
	if at == whole {
		if c.Passed = nil; slices.Max(cs.skip[:]) > c.Next {
			c.Passed = slices.Clone(cs.skip[:])
		}
	}
	for _, one := range cs.left {
		if covers(at, one.slot) && !slices.ContainsFunc(c.Ran, func(other claim) bool { return other.Seq == one.Seq }) {
			c.Ran = append(c.Ran, one)
		}
	}
	if one := cs.prepared; one != nil && covers(at, cs.preparing) && !slices.ContainsFunc(c.Ran, func(other claim) bool { return other.Seq == one.Seq }) {
		c.Ran = append(c.Ran, *one)
	}
	sortClaims(&c)
	young := cs.in.isYoung()
	c.Young, c.CrashLoop = young && len(c.Ran) > 0, young && cs.in.looping.Load()
	if c.Busy = cs.busyMode; left {
		c.free()
		c.Young, c.CrashLoop = false, false
	}
	return &c
}

// free takes the owner out of a cursor.
func (c *cursor) free() {
	c.Owner, c.PID, c.Host, c.Since, c.Ran, c.Busy, c.Fallen = "", 0, "", time.Time{}, nil, false, false
}
