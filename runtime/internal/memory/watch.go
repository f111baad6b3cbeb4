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

// Read implements [engine.Watch].
func (w *watch) Read(_ context.Context, limit int) (found []*engine.Record, passed int64, err error) {
	l := w.log
	if err := l.enter(); err != nil {
		return nil, 0, err
	}
	defer l.mu.Unlock()
	wanted := memview.Wanted(l.types, w.spec.Types, l.namesOf)
	for ; w.after < l.last && len(found) < limit; w.after++ {
		r := l.events[w.after+1]
		if r == nil && w.after >= w.began {
			passed++
		}
		if r != nil && wanted[r.Type] {
			seen := *r
			seen.Type = l.here[r.Type]
			found = append(found, &seen)
		}
	}
	return found, passed, nil
}
