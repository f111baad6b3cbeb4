package buslog

import (
	"context"
	"errors"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/view"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// watchSlack covers publishers that took the time and stored their event later.
const watchSlack = time.Minute

// watch is a place in the log. It implements [engine.Watch].
type watch struct {
	in     *reader
	spec   engine.WatchSpec
	after  int64
	wake   func() // guarded by the log's mu
	began  int64  // the newest event when it was made
	passed int64  // events that were pruned before their turn, and are not told yet
}

// Watch implements [engine.Watcher].
func (l *Log) Watch(ctx context.Context, spec engine.WatchSpec) (_ engine.Watch, err error) {
	if err := l.sync(ctx); err != nil {
		return nil, err
	}
	if err := l.enter(); err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	w := &watch{in: &l.reader, spec: spec, after: l.applied, began: l.applied, wake: func() {}}
	if !spec.Since.IsZero() {
		if w.after, err = l.before(spec.Since.Add(-watchSlack)); err != nil {
			return nil, err
		}
	}
	l.watches[w] = struct{}{}
	return w, nil
}

// before returns a place in the log behind which everything is that was stored after a
// time. The caller holds mu, which is free while the server is asked.
func (rd *reader) before(at time.Time) (int64, error) {
	for i := len(rd.ring.events) - 1; i >= 0; i-- {
		if r := rd.ring.events[i]; !r.CreatedAt.After(at) {
			return r.Seq, nil
		}
	}
	rd.mu.Unlock()
	defer rd.mu.Lock()
	next, err := rd.stream.NextSince(context.Background(), at)
	switch {
	case errors.Is(err, stream.ErrNotFound):
		return rd.ring.from - 1, nil
	case err != nil:
		return 0, rd.storage("read", err)
	}
	return next.Seq - 1, nil
}

// Close implements [engine.Watch].
func (w *watch) Close() {
	w.in.mu.Lock()
	defer w.in.mu.Unlock()
	delete(w.in.watches, w)
}

// Notify implements [engine.Watch].
func (w *watch) Notify(wake func()) {
	w.in.mu.Lock()
	w.wake = wake
	w.in.mu.Unlock()
	wake()
}

// Read implements [engine.Watch].
func (w *watch) Read(ctx context.Context, limit int) (found []*engine.Record, passed int64, err error) {
	rd := w.in
	if err := rd.enter(); err != nil {
		return nil, 0, err
	}
	defer rd.mu.Unlock()
	wanted := view.Wanted(rd.registry.Types, w.spec.Types, rd.registry.namesOf)
	end := rd.applied
	err = rd.each(ctx, w.after+1, func(r *engine.Record) bool {
		if len(found) == limit {
			end = w.after
			return false
		}
		w.after = r.Seq
		if wanted[r.Type] && (r.Origin == nil || !w.spec.Deliverable) {
			seen := *r
			seen.Type = rd.here[r.Type]
			found = append(found, &seen)
		}
		return true
	})
	if err == nil {
		w.after = max(w.after, end)
	}
	passed, w.passed = w.passed, 0
	return found, passed, err
}
