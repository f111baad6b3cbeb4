package memory

import (
	"context"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/memview"
)

// watchSlack covers publishers that took the time and stored their event later.
const watchSlack = time.Minute

// watch is a place in a log. It implements [engine.Watch]. Nobody can edit or import
// events of a log in memory, so all of them are deliverable.
type watch struct {
	log   *Log
	spec  engine.WatchSpec
	after int64
	began int64  // the newest event when it was made
	wake  func() // guarded by the store's mu

	passed int64 // events that were pruned before their turn
}

// Watch implements [engine.Watcher].
func (l *Log) Watch(_ context.Context, spec engine.WatchSpec) (engine.Watch, error) {
	if err := l.enter(); err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	w := &watch{log: l, spec: spec, after: l.last, began: l.last, wake: func() {}}
	for seq := l.last; !spec.Since.IsZero() && seq >= l.oldest; seq-- {
		r := l.events[seq]
		if r == nil {
			continue // it was pruned, and older ones may be kept
		}
		if !r.CreatedAt.After(spec.Since.Add(-watchSlack)) {
			break
		}
		w.after = seq - 1
	}
	if l.watches == nil {
		l.watches = map[*watch]struct{}{}
	}
	l.watches[w] = struct{}{}
	return w, nil
}

// Close implements [engine.Watch].
func (w *watch) Close() {
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	delete(w.log.watches, w)
}

// Notify implements [engine.Watch].
func (w *watch) Notify(wake func()) {
	w.log.mu.Lock()
	w.wake = wake
	w.log.mu.Unlock()
	wake()
}

// PassedOver implements [engine.Watch].
func (w *watch) PassedOver() (n int64) {
	n, w.passed = w.passed, 0
	return n
}

// Read implements [engine.Watch].
func (w *watch) Read(limit int) ([]*engine.Record, error) {
	if err := w.log.enter(); err != nil {
		return nil, err
	}
	defer w.log.mu.Unlock()
	return w.read(limit), nil
}

// read returns what follows. The caller holds the store's mu.
func (w *watch) read(limit int) (found []*engine.Record) {
	l := w.log
	wanted := memview.Wanted(l.types, w.spec.Types, l.namesOf)
	for ; w.after < l.last && len(found) < limit; w.after++ {
		r := l.events[w.after+1]
		if r == nil && w.after >= w.began {
			w.passed++
		}
		if r != nil && wanted[r.Type] {
			seen := *r
			seen.Type = l.here[r.Type]
			found = append(found, &seen)
		}
	}
	return found
}

// Next implements [engine.Watch].
func (w *watch) Next(ctx context.Context, limit int) ([]*engine.Record, error) {
	l := w.log
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := l.enter(); err != nil {
			return nil, err
		}
		found := w.read(limit)
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
