package buslog

import (
	"context"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// The claims say which handlers run, so that who takes over after a crash knows. They are in
// the cursor. There are two modes:
//
//   - Exactly: the claim is stored before the handler is called. Only handlers in the stored
//     cursor can run, so that a process that dies with one of them was ended by it.
//   - Busy, which the stored cursor says: handlers run that may not be in it, because so many
//     begin that waiting would cost too much. Their claims are stored within busyDelay. After a
//     crash nobody knows who has ended the process, so it counts for nobody.
//
// A unit is busy when more handlers begin than burst in exactWindow, or burstOfAll in all units
// of the process, until none has begun for as long. All cursors that it has say so. After a crash while it was busy, it is exact for the
// next waryEvents. So that these are enough, no handler begins while mostUnstored have ended
// and are not stored.

// exactWindow is the time in which burst handlers are claimed exactly.
const exactWindow = 100 * time.Millisecond

// burstOfAll is how many handlers of all units are claimed exactly in exactWindow.
const burstOfAll = 8 * burst

// mostUnstored is how many deliveries of a busy unit have ended and are not stored at most, but for those that ran beside
// each other. At three quarters of it they are stored at once. Storing costs a message for each part, so it is about as
// many as a fast handler ends within busyDelay: with a quarter of them, catching up took 1.5 times as long.
const mostUnstored = 2048

// counted counts handlers that are claimed exactly.
type counted struct {
	since time.Time
	n     int
}

// add returns how many there were in exactWindow, with one that begins.
func (c *counted) add(started time.Time) int {
	if started.Sub(c.since) > exactWindow {
		c.since, c.n = started, 0
	}
	c.n++
	return c.n
}

// claim notes that a handler begins. It reports whether that has to be stored before the handler is called.
func (cs *claims) claim(slot int, suspect bool, started time.Time) (first bool) {
	switch {
	case cs.wary > 0:
		cs.wary--
		return true
	case suspect:
		return true
	case !cs.busyMode:
		if own, all := cs.counted.add(started), cs.in.counted.add(started); own <= burst && all <= burstOfAll {
			return true
		}
		cs.setBusy(true)
		cs.calm.Reset(exactWindow)
	}
	cs.begunAt = started
	// As long as the stored cursor does not say so, or too much is not stored.
	return !cs.parts[cs.sub.at(slot)].busy || len(cs.queue) >= mostUnstored
}

// setBusy changes the mode.
func (cs *claims) setBusy(busy bool) {
	if cs.busyMode = busy; !busy {
		cs.calm.Stop()
	}
}

// isCalm reports whether a busy unit is so no more.
func (cs *claims) isCalm() bool { return time.Since(cs.begunAt) >= exactWindow }

// calmDown is called exactWindow after a unit has become busy. If it is calm by then, its next
// cursors say so.
func (u *unit) calmDown() {
	u.in.mu.Lock()
	defer u.in.mu.Unlock()
	u.shut()
	switch {
	case !u.busyMode || !u.owns():
	case u.isCalm():
		u.changed(false)
		u.calm.Reset(exactWindow) // a handler may begin before that is stored
	default:
		u.calm.Reset(exactWindow - time.Since(u.begunAt))
	}
	u.openLane()
}

// Prepare implements [engine.Settler]. Decoding is claimed as an attempt is, but nobody waits
// until the claim is stored: keys are computed for many events. So code that ends the process within
// some microseconds is not always found out, unless the event is a suspect.
func (c *consumer) Prepare(d *engine.Delivery) {
	u, h := c.unit, c.unit.in
	h.mu.Lock()
	defer h.mu.Unlock()
	slot := 0
	if d != nil {
		slot = slotOf(d.Record)
	}
	said := u.prepared != nil && u.prepared.Asked
	if c.gone || d == nil || !u.hands(slot) {
		u.unprepare()
	} else {
		u.prepared, u.preparing = &claim{Seq: d.Seq, ID: d.ID, Asked: d.Suspect, Started: time.Now()}, slot
		u.touch(slot, true)
	}
	switch {
	case said || u.prepared != nil && u.prepared.Asked:
		h.tellCalls()
	case h.alone:
		go h.tellCallsSoon()
	}
}

// unprepare takes back what Prepare has said.
func (cs *claims) unprepare() {
	if cs.prepared != nil && cs.has(cs.preparing) {
		cs.touch(cs.preparing, false) // the stored cursor must not keep the claim
	}
	cs.prepared = nil
}

// Begin implements [engine.Settler].
func (c *consumer) Begin(all []*engine.Delivery, _ []int, started time.Time) (n int, begun time.Time, cancelled bool) {
	if len(all) > 1 {
		return c.beginBatch(all, started)
	}
	if begun, cancelled = c.begin(all[0], started); !begun.IsZero() {
		n = 1
	}
	return n, begun, cancelled
}

// begin is Begin for one delivery. begun is zero if it must not be tried.
func (c *consumer) begin(d *engine.Delivery, started time.Time) (begun time.Time, cancelled bool) {
	if !d.Suspect && c.beginQuickly(d, started) {
		return started, false
	}
	u, h := c.unit, c.unit.in
	h.mu.Lock()
	defer h.mu.Unlock()
	f := c.flight(d)
	if f == nil || c.cancelled(f) {
		return time.Time{}, f != nil
	}
	u.begin(f, started)
	first := u.claim(f.slot(), d.Suspect, started)
	if u.touch(f.slot(), first); first {
		if owns, err := u.writeNow(context.Background()); !owns || err != nil {
			return time.Time{}, false
		}
		if c.flight(d) != f {
			u.openLane()
			return time.Time{}, false
		}
	}
	switch {
	case f.asked:
		u.call(f)
	case h.alone:
		h.tellCalls()
	}
	u.openLane()
	if c.flight(d) != f {
		return time.Time{}, false
	}
	return startOf(started), false
}

// claimTime is how long a claim may be on its way before that counts as waiting.
const claimTime = 100 * time.Millisecond

// startOf returns when a handler starts whose claim was asked for then. If that has taken a while, as with servers that
// have no leader, it starts now: that was not the handler's time.
func startOf(asked time.Time) time.Time {
	if now := time.Now(); now.Sub(asked) >= claimTime {
		return now
	}
	return asked
}

// begin notes that the handler of a delivery begins.
func (cs *claims) begin(f *flight, started time.Time) {
	if !f.begun {
		cs.atWork = append(cs.atWork, f)
	}
	f.asked = f.delivery.Suspect
	f.begun, f.returned, f.started = true, false, started.UnixNano() // a member of a group may have returned before
}

// cancelled reports whether somebody has cancelled a delivery.
func (c *consumer) cancelled(f *flight) bool {
	_, ok := c.unit.cancelled(f.record.Seq)
	return ok
}

// beginBatch is Begin for several deliveries.
func (c *consumer) beginBatch(all []*engine.Delivery, started time.Time) (n int, begun time.Time, cancelled bool) {
	u, h := c.unit, c.unit.in
	h.mu.Lock()
	defer h.mu.Unlock()
	first := false // the claims are stored before the handler is called
	for _, d := range all {
		f := c.flight(d)
		if cancelled = f != nil && c.cancelled(f); f == nil || cancelled {
			break
		}
		u.begin(f, started)
		f.batch = true
		first = u.claim(f.slot(), d.Suspect, started) || first
		u.touch(f.slot(), first)
		n++
	}
	if first {
		if owns, err := u.writeNow(context.Background()); !owns || err != nil {
			return 0, started, false
		}
	}
	switch mine := c.flightsOf(all[:n]); {
	case slices.ContainsFunc(mine, (*flight).isAsked):
		u.call(mine...)
	case h.alone:
		h.tellCalls()
	}
	mine := len(c.flightsOf(all[:n])) // another process may have taken some over meanwhile
	return mine, startOf(started), cancelled && mine == n
}

// SetWaiting implements [engine.Settler].
func (c *consumer) SetWaiting(d *engine.Delivery, waits bool) {
	h := c.unit.in
	h.mu.Lock()
	defer h.mu.Unlock()
	if f := c.flight(d); f != nil {
		f.waits = waits
		if c.unit.touch(f.slot(), false); !waits && (h.alone || f.asked) {
			go h.tellCallsSoon() // whoever calls holds locks
		}
	}
}

// End implements [engine.Settler]. The delivery is settled next, unless it was before: then
// its handler was left behind, and its claim was kept.
func (c *consumer) End(all []*engine.Delivery) {
	if len(all) == 1 && c.endQuickly(all[0]) {
		return
	}
	u := c.unit
	u.in.mu.Lock()
	defer u.in.mu.Unlock()
	for _, d := range all {
		if f := c.flight(d); f != nil {
			f.returned = true
		}
		if one, left := u.left[d]; left {
			delete(u.left, d)
			u.touch(one.slot, false)
		}
	}
}

// flightsOf returns the flights of deliveries up to the first that another process has taken over.
func (c *consumer) flightsOf(all []*engine.Delivery) (flights []*flight) {
	for _, d := range all {
		f := c.flight(d)
		if f == nil {
			break
		}
		flights = append(flights, f)
	}
	return flights
}

func (f *flight) isAsked() bool { return f.asked }

// flight returns what this consumer has polled and not settled, or nil. It shuts the lane.
func (c *consumer) flight(d *engine.Delivery) *flight {
	c.unit.shut()
	f := c.unit.flights.of(d.Seq)
	if f == nil || f.ended || c.gone || &f.delivery != d {
		return nil
	}
	return f
}

// isYoung says that this process has begun to dispatch a short time ago, whatever it has taken over since: if it dies now,
// that may be a crash loop.
func (h *handled) isYoung() bool { return h.youth() > 0 }

// youth returns how much longer this process is young.
func (h *handled) youth() time.Duration {
	return time.Until(time.Unix(0, h.born.Load()).Add(engine.CrashLoopTime))
}
