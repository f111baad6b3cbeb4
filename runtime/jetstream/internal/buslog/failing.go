package buslog

import (
	"cmp"
	"slices"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
)

// Failing implements [engine.Source].
func (c *consumer) Failing(after int64, limit int) (failing []*engine.Delivery, err error) {
	h := c.unit.in
	if err := h.enter(); err != nil {
		return nil, err
	}
	defer h.mu.Unlock()
	c.calls++
	c.unit.shut()
	c.unit.polled = true // what is acquired from now on is news
	var rows []*row
	for _, r := range c.unit.sub.rows {
		if r.Seq > after && r.Failing() && c.unit.hands(r.slot()) {
			rows = append(rows, r)
		}
	}
	// What has failed a moment ago has no row yet, or an older one.
	recent := map[int64]*flight{}
	for _, f := range c.unit.flights.all {
		seq := f.record.Seq
		if r := c.unit.sub.rows[seq]; seq > after && f.again() && c.unit.hands(f.slot()) && (r == nil || !r.Failing()) {
			rows, recent[seq] = append(rows, &row{rowEvent: rowEvent{Seq: seq}}), f
		}
	}
	slices.SortFunc(rows, func(a, b *row) int { return cmp.Compare(a.Seq, b.Seq) })
	for _, r := range rows[:min(limit, len(rows))] {
		if f := recent[r.Seq]; f != nil {
			failing = append(failing, c.deliveryOf(f.record, f.row))
			continue
		}
		if r.Key == "" { // it is computed from the payload
			whole, err := h.wholeRow(c.unit.sub, r.Seq)
			if err != nil {
				return nil, h.storage("read", err)
			}
			if whole == nil { // it was settled meanwhile
				continue
			}
			r = whole
		}
		failing = append(failing, c.deliveryOf(r.record(), r))
	}
	return failing, nil
}

// again reports whether a delivery has ended in a way by which it comes again later, and a strict order waits for that.
func (f *flight) again() bool {
	if !f.ended || f.park {
		return false
	}
	n, _ := f.after(f.how, f.how.Cancelled)
	return ledger.Row{Delivery: n.Delivery, State: n.State}.Failing()
}

// Cancelled implements [engine.Source].
func (c *consumer) Cancelled(seq int64) (reason string, ok bool) {
	if c.unit.lane.isFree() {
		return "", false
	}
	c.unit.in.mu.Lock()
	defer c.unit.in.mu.Unlock()
	return c.unit.cancelled(seq)
}

// cancelled says whether a delivery is to be discarded. One that was polled before the undo of its discard is, too: it
// has the former counts, and begins anew when that is stored.
func (rd *reading) cancelled(seq int64) (reason string, ok bool) {
	switch r, a := rd.sub.rows[seq], rd.sub.asks[seq]; {
	case r != nil && !r.State.Open():
		return "", false
	case r != nil && r.Cancelled:
		return r.Reason, true
	case a != nil:
		return a.Reason, true
	case r != nil:
		f := rd.flights.of(seq)
		return "undone", f != nil && !f.begun && !f.ended && f.delivery.Record != nil && r.Since.After(f.delivery.Since)
	}
	return "", false
}
