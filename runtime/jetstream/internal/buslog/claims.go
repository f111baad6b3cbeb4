package buslog

import (
	"context"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// The claims say which handlers run, so that who takes over after a crash knows. They are in
// the cursor, and are stored with it: at once while few cursors were written lately, and then
// every flushDelay. The cursor is Busy meanwhile: handlers that have run for less may run
// besides. For what is suspected of a crash, and for the first deliveries after one, the claim
// is stored before the handler is called.

// Prepare implements [engine.Settler]. Decoding is claimed as an attempt is.
func (c *consumer) Prepare(d *engine.Delivery) {
	u, l := c.unit, c.unit.log
	l.mu.Lock()
	if c.gone || !u.owned || d == nil {
		u.prepared = nil
		l.mu.Unlock()
		return
	}
	u.prepared, u.begun = &claim{Seq: d.Seq, ID: d.ID, Started: time.Now()}, true
	first := d.Suspect || u.wary > 0
	u.changed(first)
	l.mu.Unlock()
	if first {
		u.write(context.Background())
	}
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
	f.begun, f.started, u.begun = true, started, true
	first := d.Suspect || u.wary > 0
	if u.wary > 0 {
		u.wary--
	}
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
		if f == nil || c.cancelled(f) || d.Suspect {
			break
		}
		f.begun, f.started, u.begun = true, started, true
		if first = first || u.wary > 0; u.wary > 0 {
			u.wary--
		}
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

// End implements [engine.Settler]. The delivery is settled next.
func (c *consumer) End(*engine.Delivery) {}

// EndAll implements [engine.Settler].
func (c *consumer) EndAll([]*engine.Delivery) {}

// flight returns what this consumer has polled and not settled, or nil. The caller holds mu.
func (c *consumer) flight(d *engine.Delivery) *flight {
	f := c.unit.flights[d.Seq]
	if f == nil || f.ended || c.gone || f.consumer != c || d.Token != any(c) {
		return nil
	}
	return f
}
