package buslog

import (
	"context"
	"errors"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// reader reads what the view does not have in memory: old events, and whole rows. It has no state of its own. Who calls it holds
// mu, which is free while the servers are asked.
type reader struct{ logView }

// event returns an event, from memory or from the server. The caller holds mu, which is
// free while the server is asked.
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

// eventsFrom returns events from a sequence number on, and up to where there are no others.
// Their slots are nil if they are not known. The caller holds mu, which is free while the server is asked.
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

// eventsAhead is eventsFrom for who goes on behind them.
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
