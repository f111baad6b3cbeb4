package buslog

import (
	"context"
	"errors"
	"slices"

	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// divide replaces the cursor of the whole, which was taken, by those of the parts.
func (cl *cluster) divide(u *unit, c *claimed) error {
	before := c.cursors[whole]
	open := map[int][]int64{} // by part
	for _, seq := range before.Open {
		cl.mu.Lock()
		slot, err := 0, error(nil)
		if r := u.sub.rows[seq]; r != nil {
			slot = r.slot()
		} else if e, wrong := cl.event(context.Background(), seq); wrong == nil {
			slot = slotOf(e)
		} else {
			err = wrong
		}
		cl.mu.Unlock()
		if errors.Is(err, stream.ErrNotFound) {
			continue // it is deleted
		}
		if err != nil {
			return err
		}
		open[partAt(slot)] = append(open[partAt(slot)], seq)
	}
	for _, at := range allParts {
		one := *before
		if len(before.Passed) == partCount {
			one.Next = max(one.Next, before.Passed[at-1])
		}
		if at != 1 { // one of them keeps it
			one.Formers = nil
		}
		one.N, one.Open, one.Passed = c.numbers[at]+1, open[at], nil
		c.cursors[at], c.wary[at] = &one, c.wary[whole]
	}
	c.cursors[whole] = &cursor{N: before.N, By: before.By, Next: before.Next, Divided: true}
	return nil
}

// unite replaces the cursors of all parts, which were taken, by that of the whole.
func (cl *cluster) unite(c *claimed) {
	first := c.cursors[1]
	one := *first
	one.N, one.Open, one.Passed, one.Divided = c.numbers[whole]+1, nil, nil, false
	for _, at := range allParts {
		p := c.cursors[at]
		one.Passed = append(one.Passed, p.Next)
		one.Open = append(one.Open, p.Open...)
		if at != 1 {
			one.addFormers(p.Formers)
		}
		one.CrashLoop = one.CrashLoop || p.CrashLoop
		c.wary[whole] = max(c.wary[whole], c.wary[at])
		c.cursors[at] = &cursor{N: p.N, By: p.By, Next: p.Next}
	}
	slices.Sort(one.Open)
	if one.Next = slices.Min(one.Passed); one.Next == slices.Max(one.Passed) {
		one.Passed = nil
	}
	c.cursors[whole] = &one
}
