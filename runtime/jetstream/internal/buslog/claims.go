package buslog

import (
	"context"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// The claims say which handlers run, so that who takes over after a crash knows. They are in
// the cursor. There are two modes:
//
//   - Exactly: the claim is stored before the handler is called. Only handlers in the stored
//     cursor can run, so that a process that dies with one of them was ended by it.
//   - Busy, which the stored cursor says: handlers run that may not be in it, because so many
//     begin that waiting would cost too much. Their claims are stored every flushDelay. After a
//     crash nobody knows who has ended the process, so it counts for nobody.
//
// A unit is busy when more handlers begin than burst in exactWindow, until none has begun
// between two cursors. After a crash while it was busy, it is exact for the next waryEvents.

// exactWindow is the time in which burst handlers are claimed exactly.
const exactWindow = 100 * time.Millisecond

// claim notes that a handler begins. It reports whether that has to be stored before the
// handler is called. The caller holds mu.
func (u *unit) claim(suspect bool) (first bool) {
	switch {
	case u.wary > 0:
		u.wary--
		return true
	case suspect:
		return true
	case !u.busyMode:
		if now := time.Now(); now.Sub(u.window) > exactWindow {
			u.window, u.exact = now, 0
		}
		if u.exact++; u.exact <= burst {
			return true
		}
		u.busyMode = true
	}
	u.begun = true
	return !u.busy // as long as the stored cursor does not say so
}

// Prepare implements [engine.Settler]. Decoding is claimed as an attempt is, but nobody waits
// until the claim is stored: whoever calls holds locks. So code that ends the process within
// some microseconds is not always found out.
func (c *consumer) Prepare(d *engine.Delivery) {
	u, l := c.unit, c.unit.log
	l.mu.Lock()
	if c.gone || !u.owned || d == nil {
		if u.prepared != nil {
			u.changed(false) // the stored cursor must not keep the claim
		}
		u.prepared = nil
		l.mu.Unlock()
		return
	}
	u.prepared = &claim{Seq: d.Seq, ID: d.ID, Started: time.Now()}
	u.changed(true)
	l.mu.Unlock()
}

// Begin implements [engine.Settler].
func (c *consumer) Begin(d *engine.Delivery, _ int, started time.Time) (ok, cancelled bool) {
	u, l := c.unit, c.unit.log
	l.mu.Lock()
	f := c.flight(d)
	if f == nil || c.cancelled(f) {
		l.mu.Unlock()
		return false, f != nil
	}
	f.begun, f.started = true, started
	first := u.claim(d.Suspect)
	u.changed(first)
	l.mu.Unlock()
	if !first {
		return true, false
	}
	owned, err := u.write(context.Background())
	if !owned || err != nil {
		return false, false
	}
	return true, false
}

// cancelled reports whether somebody has cancelled a delivery. The caller holds mu.
func (c *consumer) cancelled(f *flight) bool {
	_, ok := c.unit.cancelled(f.record.Seq)
	return ok
}

// BeginAll implements [engine.Settler].
func (c *consumer) BeginAll(all []*engine.Delivery, workers []int, started time.Time) (begun int) {
	u, l := c.unit, c.unit.log
	l.mu.Lock()
	first := false // the claims are stored before the handler is called
	for _, d := range all {
		f := c.flight(d)
		if f == nil || c.cancelled(f) {
			break
		}
		f.begun, f.started, f.batch = true, started, len(all) > 1
		first = u.claim(d.Suspect) || first
		begun++
	}
	if begun > 0 {
		u.changed(first)
	}
	l.mu.Unlock()
	if first {
		if owned, err := u.write(context.Background()); !owned || err != nil {
			return 0
		}
	}
	return begun
}

// SetWaiting implements [engine.Settler].
func (c *consumer) SetWaiting(d *engine.Delivery, waits bool) {
	c.unit.log.mu.Lock()
	defer c.unit.log.mu.Unlock()
	if f := c.flight(d); f != nil {
		f.waits = waits
		c.unit.changed(false)
	}
}

// End implements [engine.Settler]. The delivery is settled next, unless it was before: then
// its handler was left behind, and its claim was kept.
func (c *consumer) End(d *engine.Delivery) { c.EndAll([]*engine.Delivery{d}) }

// EndAll implements [engine.Settler].
func (c *consumer) EndAll(all []*engine.Delivery) {
	u := c.unit
	u.log.mu.Lock()
	defer u.log.mu.Unlock()
	for _, d := range all {
		if f := c.flight(d); f != nil {
			f.returned = true
		}
		if _, left := u.left[d]; left {
			delete(u.left, d)
			u.changed(false)
		}
	}
}

// flight returns what this consumer has polled and not settled, or nil. The caller holds mu.
func (c *consumer) flight(d *engine.Delivery) *flight {
	f := c.unit.flights[d.Seq]
	if f == nil || f.ended || c.gone || f.consumer != c || d.Token != any(c) {
		return nil
	}
	return f
}
