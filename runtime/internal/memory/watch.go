package memory

import (
	"context"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
)

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
	if !since.IsZero() {
		w.after = l.oldest - 1
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
		for ; w.after < l.last && len(found) < limit; w.after++ {
			if r := l.events[w.after+1]; r != nil && slices.Contains(l.namesOf(r.Type), w.eventType) {
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
