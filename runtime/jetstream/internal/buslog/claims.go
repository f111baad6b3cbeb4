package buslog

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// The claims say which handlers run, for the process that takes over after a crash. They are in the cursor. There are
// two modes:
//
//   - Exactly: the claim is stored before the handler is called. Only handlers in the stored cursor can run, so that a
//     process that dies with one of them was ended by it.
//   - Busy, which the stored cursor says: handlers run that may not be in it, because so many begin that waiting would
//     cost too much. Their claims are stored within busyDelay. After a crash it is unknown which handler has ended the
//     process, so it counts for none.
//
// A unit is busy when more handlers begin than burst in exactWindow, or burstOfAll in all units of the process, until
// none has begun for as long. All cursors that it has say so. After a crash while it was busy, it is exact for the next
// waryEvents. So that these are enough, no handler begins while mostUnstored have ended and are not stored.

// exactWindow is the time in which burst handlers are claimed exactly.
const exactWindow = 100 * time.Millisecond

// burstOfAll is how many handlers of all units are claimed exactly in exactWindow.
const burstOfAll = 8 * burst

// mostUnstored is how many deliveries of a busy unit have ended and are not stored at most, but for those that ran
// beside each other. At three quarters of it they are stored at once. Storing costs a message for each part, so it is
// about as many as a fast handler ends within busyDelay: with a quarter of them, catching up took 1.5 times as long.
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
	u.openShortcut()
}

// Prepare implements [engine.Settler]. Decoding is claimed as an attempt is, but does not wait until
// the claim is stored: keys are computed for many events. So code that ends the process within some
// microseconds is not always found out, unless the event is a suspect.
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
			u.openShortcut()
			return time.Time{}, false
		}
	}
	switch {
	case f.asked:
		u.call(f)
	case h.alone:
		h.tellCalls()
	}
	u.openShortcut()
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

// cancelled reports whether a delivery was cancelled.
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
			go h.tellCallsSoon() // the caller holds locks
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

// flight returns what this consumer has polled and not settled, or nil. It shuts the shortcut.
func (c *consumer) flight(d *engine.Delivery) *flight {
	c.unit.shut()
	f := c.unit.flights.of(d.Seq)
	if f == nil || f.ended || c.gone || &f.delivery != d {
		return nil
	}
	return f
}

// isYoung says that this process has begun to dispatch a short time ago, whatever it has taken over since: if it dies
// now, that may be a crash loop.
func (h *handled) isYoung() bool { return h.youth() > 0 }

// youth returns how much longer this process is young.
func (h *handled) youth() time.Duration {
	return time.Until(time.Unix(0, h.born.Load()).Add(engine.CrashLoopTime))
}

// The claim of a suspect is stored before its handler is called, which takes a round trip to
// the servers, or more when their disks are slow. A process that ends meanwhile must not count
// for a handler that was never called, and one whose handler ends it with its first instruction
// must. So when the claim is stored the process says that the handlers are called now. It does
// not wait for the answer: what the operating system has taken to send outlives the process.
//
// The same is true of the key of a suspect. Its claim is stored while the key is computed, and stays until the next
// record of its subscription, for which the process waits. It need not wait for what it says here.
//
// Others need no second record: their first crash makes them suspects, and counts once at most.

// Suspects run alone. While one does, the record says so, too: what the stored cursors say of other handlers is over,
// also that a subscription is busy. A process whose handlers end quickly never has a moment in which no cursor says so,
// and no crash would ever count. So a handler that begins next to a suspect, or after it, waits until the process has
// said that it is not alone any more.

// called is the record of the suspects whose handlers a process has called. It is read only when
// the process has died.
type called struct {
	Calls []call `json:"calls"`
	Alone bool   `json:"alone,omitempty"` // no others run, but for those that wait
}

// call is one of them.
type call struct {
	Sub     string    `json:"sub"`
	Seq     int64     `json:"seq"`
	Started time.Time `json:"started"` // as in its claim
}

// calledTime is how long the record is kept: longer than any process takes to take over.
const calledTime = 7 * 24 * time.Hour

// call says that the handlers of suspects are called now, of flights of one unit. It gives mu back meanwhile.
func (u *unit) call(all ...*flight) {
	u.in.calling = append(u.in.calling, all...)
	u.in.tellCalls()
}

// tellCalls says what is called of suspects: their handlers, and what computes their keys; and whether they are alone.
// The caller holds mu, which is free meanwhile.
func (h *handled) tellCalls() {
	h.mu.Unlock()
	h.saying <- struct{}{} // what is said last is the newest
	h.mu.Lock()
	r := h.calls()
	h.alone = r.Alone
	h.mu.Unlock()
	data, _ := json.Marshal(r)
	h.stream.Tell(&stream.Msg{Subject: h.subject(calledToken, h.instance), Data: data, Only: true, TTL: calledTime})
	<-h.saying
	h.mu.Lock()
}

// tellCallsSoon is tellCalls for callers that cannot wait.
func (h *handled) tellCallsSoon() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.closed {
		h.tellCalls()
	}
}

// calls returns what is called now.
func (h *handled) calls() (r called) {
	h.calling = slices.DeleteFunc(h.calling, func(f *flight) bool { return f.ended || f.returned || !f.known })
	for _, f := range h.calling {
		r.Calls = append(r.Calls, call{f.consumer.unit.sub.ID, f.record.Seq, f.began()})
	}
	others := false
	for id, u := range h.units {
		switch c := u.prepared; {
		case c == nil:
		case c.Asked:
			r.Calls = append(r.Calls, call{id, c.Seq, c.Started})
		default:
			others = true
		}
		u.shut()
		others = others || len(u.left) > 0 || slices.ContainsFunc(u.atWork, func(f *flight) bool {
			return f.known && !f.ended && !f.returned && !f.waits && !slices.Contains(h.calling, f)
		})
	}
	r.Alone = len(r.Calls) > 0 && !others
	return r
}

// calledBy returns what a process has said that has died.
func (c *conn) calledBy(instance string) (called, error) {
	var r called
	m, err := c.stream.LastOf(context.Background(), c.subject(calledToken, instance))
	if errors.Is(err, stream.ErrNotFound) {
		return r, nil
	}
	if err == nil {
		err = json.Unmarshal(m.Data, &r)
	}
	return r, err
}

// begun returns those of the claims of a subscription whose handlers were called, and had not ended as far as the
// process has said.
func (r called) begun(sub string, all []claim) (ran []claim) {
	for _, c := range all {
		if !c.Asked && (!r.Alone || c.Waits || c.Left) || slices.ContainsFunc(r.Calls, func(one call) bool {
			return one.Sub == sub && one.Seq == c.Seq && one.Started.Equal(c.Started)
		}) {
			ran = append(ran, c)
		}
	}
	return ran
}
