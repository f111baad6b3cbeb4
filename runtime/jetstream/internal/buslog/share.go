package buslog

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// share is what this process has of a part of a subscription, or of the whole. It is guarded
// by the log's mu.
type share struct {
	owned   bool
	leaving bool      // nothing of it is handed out any more, and it is free as soon as its handlers have ended
	left    time.Time // since when
	stop    int64     // of a part that is left: the first event that was not looked at
	n       int64     // the number of the last cursor that was made
	touched uint64    // the last change that concerns it
	stored  uint64    // up to this change
	busy    bool      // what the stored cursor says
	top     int64     // the last event of it that has ended
}

// owns reports whether anything of the subscription is this process's.
func (sh *shares) owns() bool {
	return slices.ContainsFunc(sh.parts[:], func(p share) bool { return p.owned })
}

// has reports whether the events of a slot are this process's.
func (sh *shares) has(slot int) bool { return sh.parts[sh.sub.at(slot)].owned }

// hands reports whether events of a slot are handed out.
func (sh *shares) hands(slot int) bool {
	p := &sh.parts[sh.sub.at(slot)]
	return p.owned && !p.leaving
}

// nextOf returns the first event of a slot that was not looked at.
func (rd *reading) nextOf(slot int) int64 {
	at := rd.sub.at(slot)
	switch p := &rd.parts[at]; {
	case !p.leaving:
		return max(rd.next, rd.skip[slot%partCount])
	case at == whole:
		return max(p.stop, rd.skip[slot%partCount])
	default:
		return p.stop
	}
}

// covers reports whether a part, or the whole, has a slot.
func covers(at, slot int) bool { return at == whole || at == partAt(slot) }

// touch notes that something of a slot is to be stored.
func (st *storing) touch(slot int, atOnce bool) {
	st.touched(slot)
	st.signal(atOnce)
}

// touched is touch without waking the goroutine that stores.
func (st *storing) touched(slot int) {
	st.changes++
	st.parts[st.sub.at(slot)].touched = st.changes
}

// touchedAll is touched for several deliveries.
func (st *storing) touchedAll(all []*flight) {
	if !st.sub.divided() { // one of them stands for all
		all = all[:min(len(all), 1)]
	}
	for _, f := range all {
		st.touched(f.slot())
	}
}

// growUp stores a cursor that does not say any more that this process is young, if one does.
func (u *unit) growUp(at int) {
	u.in.mu.Lock()
	defer u.in.mu.Unlock()
	if c := &u.sub.parts[at].cursor; (c.Young || c.CrashLoop) && u.parts[at].owned && !u.in.isClosed() {
		u.shut()
		u.changed(false)
		u.parts[at].touched = u.changes
		u.openShortcut()
	}
}

// sayLooping stores cursors that say that a process has died young before this one.
func (h *handled) sayLooping() {
	for _, u := range h.units {
		if !u.owns() {
			continue
		}
		u.shut()
		u.changed(true)
		for at := range u.parts {
			u.parts[at].touched = u.changes
		}
		u.openShortcut()
	}
}

// acquire makes the unit hand out a part, or the whole: this process has stored its cursor. After a crash of the last
// owner the next handlers are claimed exactly.
func (u *unit) acquire(at int, wary int) {
	u.shut()
	c := &u.sub.parts[at].cursor
	if !u.owns() {
		for _, f := range u.flights.all {
			f.known = false
		}
		u.flights.sweep()
		u.prepared, u.plan, u.doubts = nil, nil, nil
		u.wary, u.returning = 0, 0
		u.setBusy(false)
		u.queue, u.reopen, u.atWork = nil, nil, nil
		u.next, u.skip, u.sub.due = math.MaxInt64, [partCount]int64{}, nil
		u.stored = u.changes
		for _, one := range u.sub.goneRows { // the last owner may not have come to it
			u.in.tidy(leftover{u.sub.ID, one.seq, one.rev})
		}
	}
	if u.next != math.MaxInt64 && c.Next < u.next { // of other parts it has looked at more
		for i := range u.skip {
			u.skip[i] = max(u.skip[i], u.next)
		}
	}
	u.next = min(u.next, c.Next)
	if at != whole {
		u.skip[at-1] = c.Next
	} else if len(c.Passed) == partCount {
		copy(u.skip[:], c.Passed)
	}
	u.parts[at] = share{owned: true, n: c.N, busy: c.Busy, top: c.Next - 1}
	u.moved, u.wary = u.moved || u.polled, max(u.wary, wary)
	for _, seq := range c.Open {
		if u.sub.rows[seq] == nil {
			u.putBack(reopened{seq, max(at-1, 0)})
		}
	}
	if left := u.in.youth(); left > 0 {
		time.AfterFunc(left, func() { u.growUp(at) })
	}
	u.in.clock.back = 0
	for _, r := range u.sub.rows {
		if r.forVersion() && covers(at, r.slot()) { // the record says what it said
			r.Row = r.TakenOver()
		}
	}
	u.queueRows(at)
	u.freeAgain(at)
	if back := u.in.clock.back; back >= clocksApart {
		u.in.reportSetBack(back)
	}
	if len(u.sub.asks) > 0 { // a caller waits for an answer
		u.changed(false)
	}
	if !u.running {
		u.running = true
		go u.run()
	}
	u.wake()
}

// queueRows notes when the rows of a part are due, and in which waitlists they are.
func (u *unit) queueRows(at int) {
	var inWaitlists []*row
	for _, r := range u.sub.rows {
		switch {
		case !covers(at, r.slot()):
		case r.Waitlist != "":
			inWaitlists = append(inWaitlists, r)
		default:
			u.queueRow(r)
		}
	}
	slices.SortFunc(inWaitlists, func(a, b *row) int { return cmp.Compare(a.Seq, b.Seq) }) // the waitlists are built from the end
	for _, r := range inWaitlists {
		u.queueRow(r)
	}
}

// lose forgets everything of a part, or of the whole: it is not this process's any more.
func (u *unit) lose(at int) {
	u.shut()
	u.parts[at] = share{n: u.parts[at].n}
	for _, f := range u.flights.all {
		if covers(at, f.slot()) {
			f.known = false
		}
	}
	u.flights.sweep()
	u.queue = slices.DeleteFunc(u.queue, func(f *flight) bool {
		if covers(at, f.slot()) && f.returns {
			u.returning--
		}
		return covers(at, f.slot())
	})
	u.forgetLeft(at)
	if u.moved = true; !u.owns() {
		u.setBusy(false)
		u.plan, u.doubts, u.sub.due = nil, nil, nil
		u.timer.Stop()
	}
	u.noteWritten()
	u.in.lack()
	u.wake()
}

// forgetLeft forgets what comes again of a part that is not this process's any more, its waitlists, and the handlers
// that it has left behind.
func (cs *claims) forgetLeft(at int) {
	cs.reopen = slices.DeleteFunc(cs.reopen, func(one reopened) bool { return covers(at, one.slot) })
	cs.forgetWaitlists(at)
	maps.DeleteFunc(cs.left, func(_ *engine.Delivery, one claim) bool { return covers(at, one.slot) })
}

// leave begins to let go of a part, or of the whole. Deliveries of it that were polled and not begun are dropped
// when their turn comes.
func (u *unit) leave(at int) {
	p := &u.parts[at]
	if !p.owned || p.leaving {
		return
	}
	u.shut()
	stop := u.next
	if at != whole {
		stop = u.nextOf(at - 1)
	}
	p.leaving, p.left, p.stop = true, time.Now(), stop
	for _, f := range u.flights.all {
		if covers(at, f.slot()) && !f.begun && !f.ended {
			f.known = false
			u.again(f)
		}
	}
	u.flights.sweep()
	u.leaveWaitlists(at)
	u.moved = u.moved || u.polled
	u.changed(true)
	p.touched = u.changes
	u.wake()
}

// stay ends leave: the handlers take too long.
func (u *unit) stay(at int) {
	p := &u.parts[at]
	if at != whole {
		for i := range u.skip {
			if i != at-1 {
				u.skip[i] = max(u.skip[i], u.next)
			}
		}
		u.skip[at-1] = p.stop
	}
	u.next = min(u.next, p.stop)
	p.leaving, u.stayed = false, time.Now()
	u.moved = u.moved || u.polled
	u.queueRows(at)
	u.wake()
}

// quiet reports whether nothing of a part is polled, but for what a plan settles.
func (rd *reading) quiet(at int, p *plan) bool {
	for _, f := range rd.flights.all {
		if covers(at, f.slot()) && f.plan != p {
			return false
		}
	}
	return true
}
