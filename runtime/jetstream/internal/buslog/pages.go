package buslog

import (
	"context"
	"errors"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// event returns an event, from memory or from the server. The caller holds mu, which is
// free while the server is asked.
func (l *Log) event(ctx context.Context, seq int64) (*engine.Record, error) {
	if seq >= l.ring.from {
		if all, _ := l.ring.after(seq); len(all) > 0 && all[0].Seq == seq {
			return all[0], nil
		}
	}
	known := l.received
	l.mu.Unlock()
	m, err := l.stream.GetKnown(ctx, seq, known)
	l.mu.Lock()
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
func (l *Log) eventsFrom(ctx context.Context, seq int64) (events []*engine.Record, slots []uint8, until int64, err error) {
	if seq >= l.ring.from {
		events, slots = l.ring.after(seq)
		return events, slots, l.applied, nil
	}
	end, known := min(l.ring.from-1, l.applied), l.received // behind end they are in memory
	l.mu.Unlock()
	defer l.mu.Lock()
	page, err := l.stream.Page(ctx, seq, l.subject(eventToken, ">"), Sizes.Page, pageBytes)
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
			l.noteForeign(m, err)
		}
		until = m.Seq
	}
	if len(page) > 0 {
		return events, nil, until, nil
	}
	// A replica that lags has no more: the leader knows.
	next, err := l.stream.NextKnown(ctx, l.subject(eventToken, ">"), seq, known)
	switch {
	case errors.Is(err, stream.ErrNotFound):
		return nil, nil, end, nil
	case err != nil:
		return nil, nil, 0, err
	}
	return nil, nil, min(next.Seq-1, end), nil
}

// eventsAhead is eventsFrom for who goes on behind them.
func (l *Log) eventsAhead(seq int64) (events []*engine.Record, slots []uint8, until int64, err error) {
	if end := min(l.ring.from-1, l.applied); seq <= end {
		l.mu.Unlock()
		events, slots = l.ahead.after(l, seq, end)
		l.mu.Lock()
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
	return l.eventsFrom(context.Background(), seq)
}

// noteForeign logs once that a message among the events is none. The caller does not hold mu.
func (l *Log) noteForeign(m stream.Stored, err error) {
	for {
		noted := l.foreign.Load()
		if m.Seq <= noted {
			return
		}
		if l.foreign.CompareAndSwap(noted, m.Seq) {
			l.logger.Error("a message of the event log cannot be read", "seq", m.Seq, "subject", m.Subject, "error", err)
			return
		}
	}
}
