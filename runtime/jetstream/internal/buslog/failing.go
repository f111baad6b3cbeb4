package buslog

import (
	"cmp"
	"slices"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// Failing implements [engine.Source].
func (c *consumer) Failing(after int64, limit int) (failing []*engine.Delivery, err error) {
	l := c.unit.log
	if err := l.enter(); err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	var rows []*row
	for _, r := range c.unit.sub.rows {
		if r.Seq > after && r.open() && (r.Failures > 0 || r.State == held || r.PutOff || r.Suspect) {
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, func(a, b *row) int { return cmp.Compare(a.Seq, b.Seq) })
	for _, r := range rows[:min(limit, len(rows))] {
		if r.Key == "" { // it is computed from the payload
			whole, err := l.wholeRow(c.unit.sub, r.Seq)
			if err != nil {
				return nil, l.storage("read", err)
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

// Cancelled implements [engine.Source].
func (c *consumer) Cancelled(seq int64) (reason string, ok bool) {
	c.unit.log.mu.Lock()
	defer c.unit.log.mu.Unlock()
	return c.unit.cancelled(seq)
}

func (u *unit) cancelled(seq int64) (reason string, ok bool) {
	switch r, a := u.sub.rows[seq], u.sub.asks[seq]; {
	case r != nil && !r.open():
		return "", false
	case r != nil && r.Cancelled:
		return r.Reason, true
	case a != nil:
		return a.Reason, true
	}
	return "", false
}
