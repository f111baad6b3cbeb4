package buslog

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// A subscription whose handlers may run beside each other is divided into parts, which processes
// share. An event belongs to the part of its partition key, or of its id if it has none. Each
// part has a cursor, and the process named there handles it, so that the events of a key have
// one owner at a time. A subscription that handles one event after the other is one whole.
//
// The cursor of the whole says whether the subscription is divided. Only a process that takes all
// of it divides it, or makes it one whole again, in a batch that replaces all of the cursors.

// partCount is how many parts a subscription has that is divided.
const partCount = 16

// whole is the index of the cursor of the whole. The parts are 1 to partCount.
const whole = 0

// part is the cursor of a part of a subscription, or of the whole.
type part struct {
	cursor
	rev int64 // the sequence number of the record; 0 if there is none
}

var (
	onlyWhole = []int{whole}
	allParts  = func() (all []int) {
		for at := 1; at <= partCount; at++ {
			all = append(all, at)
		}
		return all
	}()
)

// divided reports whether the parts of the subscription have cursors of their own.
func (s *sub) divided() bool { return s.parts[whole].Divided }

// live returns the indices of the cursors that count: of all parts, or of the whole.
func (s *sub) live() []int {
	if s.divided() {
		return allParts
	}
	return onlyWhole
}

// at returns the index of the cursor that counts for a slot.
func (s *sub) at(slot int) int {
	if s.divided() {
		return partAt(slot)
	}
	return whole
}

// partAt returns the index of the part of a slot.
func partAt(slot int) int { return 1 + slot%partCount }

// of returns the cursor that counts for an event.
func (s *sub) of(r *engine.Record) *part { return &s.parts[s.at(slotOf(r))] }

// nextAt returns the first event that the owner of a part, or of the whole, has not looked
// at.
func (s *sub) nextAt(at int) int64 {
	if s.parts[at].rev == 0 {
		return s.Start + 1
	}
	return s.parts[at].Next
}

// next returns the first event that an owner has not looked at.
func (s *sub) next() int64 {
	live := s.live()
	next := s.nextAt(live[0])
	for _, at := range live[1:] {
		next = min(next, s.nextAt(at))
	}
	return next
}

// looked reports whether the owner has looked at an event of a slot.
func (s *sub) looked(seq int64, slot int) bool {
	at := s.at(slot)
	if seq < s.nextAt(at) {
		return true
	}
	passed := s.parts[at].Passed
	return len(passed) == partCount && seq < passed[slot%partCount]
}

// reach is what the owners of a subscription have looked at: of each part the events before
// this one.
type reach [partCount]int64

func (s *sub) reach() (at reach) {
	for i := range at {
		if at[i] = s.nextAt(s.at(i)); len(s.parts[whole].Passed) == partCount && !s.divided() {
			at[i] = max(at[i], s.parts[whole].Passed[i])
		}
	}
	return at
}

// looked reports whether they have looked at an event of a slot.
func (at reach) looked(seq int64, slot int) bool { return seq < at[slot%partCount] }

// first returns the first event that an owner has not looked at.
func (at reach) first() int64 { return slices.Min(at[:]) }

// pending reports whether an event has no row and is not settled.
func (s *sub) pending(r *engine.Record) bool {
	if s.rows[r.Seq] != nil || r.Seq <= s.Start || !s.matches(r) {
		return false
	}
	slot := slotOf(r)
	return !s.looked(r.Seq, slot) || slices.Contains(s.parts[s.at(slot)].Open, r.Seq)
}

// open returns the events that owners have looked at and not settled.
func (s *sub) open() (all []int64) {
	for _, at := range s.live() {
		all = append(all, s.parts[at].Open...)
	}
	return all
}

// owners returns the cursors of the owners of the subscription, by their instances.
func (s *sub) owners() map[string]*cursor {
	all := map[string]*cursor{}
	for _, at := range s.live() {
		if c := &s.parts[at].cursor; c.Owner != "" {
			all[c.Owner] = c
		}
	}
	return all
}

// splitCursor returns what the subject of a cursor says behind its kind.
func splitCursor(rest string) (sub string, at int, ok bool) {
	sub, text, isPart := strings.Cut(rest, ".")
	if !isPart {
		return sub, whole, true
	}
	at, err := strconv.Atoi(text)
	return sub, at, err == nil && at >= 1 && at <= partCount
}

// divide replaces the cursor of the whole, which was taken, by those of the parts.
func (cl *cluster) divide(u *unit, c *claimed) error {
	before := c.cursors[whole]
	open, freed := map[int][]int64{}, map[int][]int64{} // by part
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
	cl.mu.Lock()
	for _, seq := range before.Freed {
		if r := u.sub.rows[seq]; r != nil {
			freed[partAt(r.slot())] = append(freed[partAt(r.slot())], seq)
		}
	}
	cl.mu.Unlock()
	for _, at := range allParts {
		one := *before
		if len(before.Passed) == partCount {
			one.Next = max(one.Next, before.Passed[at-1])
		}
		if at != 1 { // one of them keeps it
			one.Formers = nil
		}
		one.N, one.Open, one.Freed, one.Passed = c.numbers[at]+1, open[at], freed[at], nil
		c.cursors[at], c.wary[at] = &one, c.wary[whole]
	}
	c.cursors[whole] = &cursor{N: before.N, By: before.By, Next: before.Next, Divided: true}
	return nil
}

// unite replaces the cursors of all parts, which were taken, by that of the whole.
func (c *claimed) unite() {
	first := c.cursors[1]
	one := *first
	one.N, one.Open, one.Freed, one.Passed, one.Divided = c.numbers[whole]+1, nil, nil, nil, false
	for _, at := range allParts {
		p := c.cursors[at]
		one.Passed = append(one.Passed, p.Next)
		one.Open, one.Freed = append(one.Open, p.Open...), append(one.Freed, p.Freed...)
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
