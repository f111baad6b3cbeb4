package memory

import (
	"context"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// watchSlack covers publishers that took the time and stored their event later.
const watchSlack = time.Minute

// watch is a place in a log. It implements [engine.Watch].
type watch struct {
	log       *Log
	eventType string
	after     int64
}

// Watch implements [engine.Watcher].
func (l *Log) Watch(_ context.Context, eventType string, since time.Time) (engine.Watch, error) {
	if err := l.enter(); err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	w := &watch{log: l, eventType: eventType, after: l.last}
	for seq := l.last; !since.IsZero() && seq >= l.oldest; seq-- {
		r := l.events[seq]
		if r == nil {
			continue // it was pruned, and older ones may be kept
		}
		if !r.CreatedAt.After(since.Add(-watchSlack)) {
			break
		}
		w.after = seq - 1
	}
	return w, nil
}

// Close implements [engine.Watch].
func (w *watch) Close() {}

// Next implements [engine.Watch].
func (w *watch) Next(ctx context.Context, limit int) (found []engine.Record, err error) {
	l := w.log
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := l.enter(); err != nil {
			return nil, err
		}
		wanted := map[string]bool{}
		for _, row := range l.types {
			wanted[row.Written] = slices.Contains(l.namesOf(row.Written), w.eventType)
		}
		for ; w.after < l.last && len(found) < limit; w.after++ {
			if r := l.events[w.after+1]; r != nil && wanted[r.Type] {
				seen := *r
				seen.Type = l.here[r.Type]
				found = append(found, seen)
			}
		}
		if l.arrived == nil {
			l.arrived = make(chan struct{})
		}
		news := l.arrived
		l.mu.Unlock()
		if len(found) > 0 {
			return found, nil
		}
		select {
		case <-news:
		case <-l.done:
			return nil, engine.ErrClosed
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
