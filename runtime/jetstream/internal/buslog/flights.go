package buslog

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
)

// flights are the deliveries of a unit that were polled, or are to be stored, in the order of
// their events. Nearly all come at the end and go at the front. They are guarded by the log's
// mu.
type flights struct{ all []*flight }

func (fs *flights) find(seq int64) (at int, found bool) {
	if n := len(fs.all); n == 0 || fs.all[n-1].record.Seq < seq {
		return n, false
	}
	return slices.BinarySearchFunc(fs.all, seq, func(f *flight, seq int64) int { return cmp.Compare(f.record.Seq, seq) })
}

// of returns the flight of an event, or nil.
func (fs *flights) of(seq int64) *flight {
	if at, found := fs.find(seq); found {
		return fs.all[at]
	}
	return nil
}

// add puts a flight in, of an event that has none.
func (fs *flights) add(f *flight) {
	at, _ := fs.find(f.record.Seq)
	f.known, fs.all = true, slices.Insert(fs.all, at, f)
}

// forget takes a flight out: it is stored, not of this process any more, or comes again. The
// caller has shut the shortcut.
func (fs *flights) forget(f *flight) {
	f.known = false
	if at, found := fs.find(f.record.Seq); found && fs.all[at] == f {
		fs.all = slices.Delete(fs.all, at, at+1)
	}
}

// sweep takes those out that have been marked as not known.
func (fs *flights) sweep() { fs.sweepTo(math.MaxInt64) }

// sweepTo is sweep for those of events up to last: of the others none has been marked.
func (fs *flights) sweepTo(last int64) {
	end, found := fs.find(last)
	if found {
		end++
	}
	left := slices.DeleteFunc(fs.all[:end], func(f *flight) bool { return !f.known })
	fs.all = slices.Delete(fs.all, len(left), end)
}

// flight is a delivery that was polled.
type flight struct {
	delivery engine.Delivery     // as it was handed out, with the names of this process
	record   *engine.Record      // under the name with which it was published
	consumer *consumer           // that has polled it; nil if there is no more
	row      *row                // that it had, or nil
	started  int64               // when its handler was called, in nanoseconds since 1970; 0 for never
	how      *engine.Disposition // if it has ended; never changed
	plan     *plan               // the last one that it is in
	in       uint8               // the slot of the event
	begun    bool
	waits    bool
	asked    bool // for its claim, see called.go
	batch    bool
	returned bool // its handler
	ended    bool // it is settled
	ahead    bool // it was polled before its turn, so that it needs a row whatever happens
	delayed  bool // its event is delayed, and becomes a row
	returns  bool // it has ended, and comes back at once
	stored   bool // how it has ended
	known    bool // it is one of the unit's; guarded as the shortcut says
}

// slot returns that of the event.
func (f *flight) slot() int { return int(f.in) }

// began returns when its handler was called.
func (f *flight) began() time.Time {
	if f.started == 0 {
		return time.Time{}
	}
	return time.Unix(0, f.started)
}

// pollRows hands out rows that are due; if before is not 0 only those of events before that.
// Rows that are not in memory are read first, while mu is free.
func (c *consumer) pollRows(dst []*engine.Delivery, full int, before int64) ([]*engine.Delivery, error) {
	u, h, back := c.unit, c.unit.in, c.unit.back
	now, queue := h.clock.now(), &u.sub.due
	for len(*queue) > 0 {
		top := (*queue)[0]
		r, waits := h.isDue(u.sub, top)
		switch {
		case !waits || !u.hands(r.slot()) || u.flights.of(top.seq) != nil: // of an older state, another process's, or it comes back
			queue.take()
			continue
		case before > 0 && top.seq > before:
			return dst, nil
		case top.due.After(now):
			u.timer.Reset(top.due.Sub(now))
			h.watchClock()
			return dst, nil
		case len(dst) == full:
			return dst, nil // the caller comes back
		}
		whole := h.inMemory(r)
		if whole == nil {
			if soon := u.dueSoon(now, min(full-len(dst), Sizes.Rows)); len(soon) > 1 {
				h.readSoon(soon)
			}
			var err error
			if whole, err = h.wholeRow(u.sub, top.seq); err != nil || !u.same(c, back) {
				return dst, err
			}
			if at := *queue; len(at) == 0 || at[0] != top || whole == nil || u.sub.rows[top.seq].rev != whole.rev || u.flights.of(top.seq) != nil {
				continue // it has changed while the server was asked
			}
			if _, waits := h.isDue(u.sub, top); !waits {
				continue
			}
		}
		queue.take()
		dst = append(dst, c.handOut(whole.record(), whole, whole.slot()))
	}
	return dst, nil
}

// same reports whether a consumer may go on with what it polls, after mu was free. If not it polls again.
func (u *unit) same(c *consumer, back uint64) bool {
	if !c.gone && u.owns() && !u.moved && u.back == back {
		return true
	}
	c.wake()
	return false
}

// dueSoon returns rows that are due and have to be read.
func (rd *reading) dueSoon(now time.Time, most int) (rows []*row) {
	s, h := rd.sub, rd.in
	for _, at := range s.due[:min(2*most, len(s.due))] {
		if r, waits := h.isDue(s, at); waits && len(rows) < most && rd.hands(r.slot()) && !at.due.After(now) && h.inMemory(r) == nil {
			rows = append(rows, r)
		}
	}
	return rows
}

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
	// A delivery that has failed a moment ago has no row yet, or an older one.
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
	if !f.ended || f.delayed {
		return false
	}
	n, _ := f.after(f.how, f.how.Cancelled)
	return ledger.Row{Delivery: n.Delivery, State: n.State}.Failing()
}

// Cancelled implements [engine.Source].
func (c *consumer) Cancelled(seq int64) (reason string, ok bool) {
	if c.unit.shortcut.isFree() {
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
