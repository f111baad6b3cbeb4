package buslog

import (
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// pollRows hands out rows that are due; if before is not 0 only those of events before that.
// What is not in memory is read first, while mu is free.
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

// same reports whether a consumer may go on with what it polls, after mu was free. If not it
// polls again. The caller holds mu.
func (u *unit) same(c *consumer, back uint64) bool {
	if !c.gone && u.owns() && !u.moved && u.back == back {
		return true
	}
	c.wake()
	return false
}

// dueSoon returns rows that are due and have to be read. The caller holds mu.
func (rd *reading) dueSoon(now time.Time, most int) (rows []*row) {
	s, h := rd.sub, rd.in
	for _, at := range s.due[:min(2*most, len(s.due))] {
		if r, waits := h.isDue(s, at); waits && len(rows) < most && rd.hands(r.slot()) && !at.due.After(now) && h.inMemory(r) == nil {
			rows = append(rows, r)
		}
	}
	return rows
}
