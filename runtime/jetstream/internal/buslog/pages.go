package buslog

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// reader reads what the view does not have in memory: old events, and whole rows. It has no state of its own. Callers
// hold mu, which is free while the servers are asked.
type reader struct{ logView }

// event returns an event, from memory or from the server.
func (rd *reader) event(ctx context.Context, seq int64) (*engine.Record, error) {
	if seq >= rd.ring.from {
		if all, _ := rd.ring.after(seq); len(all) > 0 && all[0].Seq == seq {
			return all[0], nil
		}
	}
	known := rd.received
	rd.mu.Unlock()
	m, err := rd.stream.GetKnown(ctx, seq, known)
	rd.mu.Lock()
	if err != nil {
		return nil, err
	}
	if kind, _ := split(m.Subject); kind != eventToken {
		return nil, stream.ErrNotFound
	}
	return eventOf(m)
}

// Sizes are how many events are held in memory at once. Tests make them small before they open a log.
var Sizes = struct {
	Page  int // in a page that is read from the server
	Ring  int // the newest ones, for the subscriptions that keep up
	Rows  int // that are read from the server before they are polled
	Ahead int // that a reader has read ahead for the subscriptions that lag
}{256, 16384, 32, 2048}

// pageBytes is how many bytes one page has.
const pageBytes = 4 << 20

// eventsFrom returns events from a sequence number on, and up to where there are no others. Their slots are nil if they
// are not known.
func (rd *reader) eventsFrom(ctx context.Context, seq int64) (events []*engine.Record, slots []uint8, until int64, err error) {
	if seq >= rd.ring.from {
		events, slots = rd.ring.after(seq)
		return events, slots, rd.applied, nil
	}
	end, known := min(rd.ring.from-1, rd.applied), rd.received // behind end they are in memory
	rd.mu.Unlock()
	defer rd.mu.Lock()
	page, err := rd.stream.Page(ctx, seq, rd.subject(eventToken, ">"), Sizes.Page, pageBytes)
	if err != nil {
		return nil, nil, 0, err
	}
	for _, m := range page {
		if m.Seq > end {
			return events, nil, end, nil
		}
		if r, err := eventOf(m); err == nil {
			events = append(events, r)
		} else {
			rd.noteForeign(m, err)
		}
		until = m.Seq
	}
	if len(page) > 0 {
		return events, nil, until, nil
	}
	// A replica that lags has no more: the leader knows.
	next, err := rd.stream.NextKnown(ctx, rd.subject(eventToken, ">"), seq, known)
	switch {
	case errors.Is(err, stream.ErrNotFound):
		return nil, nil, end, nil
	case err != nil:
		return nil, nil, 0, err
	}
	return nil, nil, min(next.Seq-1, end), nil
}

// eventsAhead is eventsFrom for callers that go on behind them.
func (rd *reader) eventsAhead(seq int64) (events []*engine.Record, slots []uint8, until int64, err error) {
	if end := min(rd.ring.from-1, rd.applied); seq <= end {
		rd.mu.Unlock()
		events, slots = rd.ahead.after(&rd.conn, seq, end)
		rd.mu.Lock()
		n := len(events)
		for n > 0 && events[n-1].Seq > end { // it is in memory
			n--
		}
		switch {
		case n < len(events):
			return events[:n], slots[:n], end, nil
		case n > 0:
			return events, slots, events[n-1].Seq, nil
		}
	}
	return rd.eventsFrom(context.Background(), seq)
}

// noteForeign logs once that a message among the events is none. The caller does not hold mu.
func (c *conn) noteForeign(m stream.Stored, err error) {
	for {
		noted := c.foreign.Load()
		if m.Seq <= noted {
			return
		}
		if c.foreign.CompareAndSwap(noted, m.Seq) {
			c.logger.Error("a message of the event log cannot be read", "seq", m.Seq, "subject", m.Subject, "error", err)
			return
		}
	}
}

// each calls f with the events from a sequence number on, in order, until it returns false.
func (rd *reader) each(ctx context.Context, seq int64, f func(r *engine.Record) bool) error {
	return rd.eachUntil(ctx, seq, math.MaxInt64, f)
}

// eachUntil is each for the events up to another sequence number.
func (rd *reader) eachUntil(ctx context.Context, seq, end int64, f func(r *engine.Record) bool) error {
	for seq <= min(end, rd.applied) {
		events, _, until, err := rd.eventsFrom(ctx, seq)
		if err != nil {
			return rd.storage("read", err)
		}
		for _, r := range events {
			if r.Seq < seq {
				continue
			}
			if r.Seq > end || !f(r) {
				return nil
			}
			seq = r.Seq + 1
		}
		seq = max(seq, until+1)
	}
	return nil
}

// eachPending calls f with the events that are not settled for a subscription and have no row, until it returns false.
// It looks at so many, if bound is not 0, and reports whether it came to the end of the log.
func (rd *reader) eachPending(ctx context.Context, s *sub, bound int, f func(r *engine.Record) bool) (all bool, err error) {
	for _, seq := range s.open() {
		r, err := rd.event(ctx, seq)
		if errors.Is(err, stream.ErrNotFound) {
			continue // it is deleted
		}
		if err != nil {
			return false, err
		}
		if s.pending(r) && !f(r) {
			return false, nil
		}
	}
	looked, last, none := 0, rd.applied, true
	all = true
	err = rd.each(ctx, max(s.next(), s.clear+1), func(r *engine.Record) bool {
		looked++
		if s.pending(r) && !s.looked(r.Seq, slotOf(r)) {
			none = false
			all = f(r)
		} else if none && r.Seq <= last {
			s.clear = r.Seq
		}
		all = all && looked != bound
		return all
	})
	if none && looked != bound && err == nil {
		s.clear = max(s.clear, last)
	}
	return all, err
}

// ringBytes is how many bytes of the newest events are kept in memory, for the subscriptions that keep up, and
// Sizes.Ring how many events.
const ringBytes = 8 << 20

// ring holds the newest events, under the names with which they were published.
type ring struct {
	from   int64 // every event at or after this is here
	events []*engine.Record
	slots  []uint8 // of the events
	bytes  int
}

func (r *ring) add(e *engine.Record) {
	r.events, r.slots = append(r.events, e), append(r.slots, uint8(slotOf(e)))
	r.bytes += len(e.Payload) + len(e.Metadata)
	drop := 0
	for len(r.events)-drop > 1 && (len(r.events)-drop > Sizes.Ring || r.bytes > ringBytes) {
		old := r.events[drop]
		r.bytes -= len(old.Payload) + len(old.Metadata)
		r.from = old.Seq + 1
		drop++
	}
	if drop > 0 {
		clear(r.events[:drop])
		r.events, r.slots = r.events[drop:], r.slots[drop:]
	}
}

// remove takes events out, by their sequence numbers.
func (r *ring) remove(gone map[int64]bool) {
	left := 0
	for i, e := range r.events {
		if !gone[e.Seq] {
			r.events[left], r.slots[left] = e, r.slots[i]
			left++
		}
	}
	clear(r.events[left:])
	r.events, r.slots = r.events[:left], r.slots[:left]
}

// after returns the events from a sequence number on, which is not before from, and their slots.
func (r *ring) after(seq int64) ([]*engine.Record, []uint8) {
	at, _ := slices.BinarySearchFunc(r.events, seq, func(e *engine.Record, seq int64) int { return cmp.Compare(e.Seq, seq) })
	return r.events[at:], r.slots[at:]
}
