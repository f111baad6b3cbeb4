package buslog

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/view"
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

// Follow implements [engine.EventReader].
func (in *Inspection) Follow(ctx context.Context, f engine.Following) (part event.Followed, err error) {
	from, err := f.Mark()
	if err == nil {
		err = f.Check()
	}
	if err == nil {
		err = in.look(ctx)
	}
	if err != nil {
		return part, err
	}
	defer in.mu.Unlock()
	end := engine.FollowMark{Seq: in.applied, Log: in.registry.Log, At: time.Now()}
	if from == nil && f.Newest {
		part.Next = end.Cursor()
		part.Events, err = in.newestOf(ctx, f.Filter, end.Seq, f.Limit)
		return part, err
	}
	after, filter := int64(0), f.Filter
	if from != nil {
		if after, part.Restarted = from.Seq, in.restored(ctx, *from); part.Restarted {
			after = 0
			if from.At.After(filter.Since) {
				filter.Since = from.At
			}
		}
	}
	err = in.each(ctx, after+1, func(r *engine.Record) bool {
		if r.Seq > end.Seq {
			return false
		}
		one := in.eventFor(r)
		if !in.chooses(filter, r, one) {
			return true
		}
		if part.More = len(part.Events) == f.Limit; part.More {
			last := part.Events[f.Limit-1]
			end.Seq, end.ID = last.Seq, last.ID
			return false
		}
		part.Events = append(part.Events, one)
		return true
	})
	part.Next = end.Cursor()
	if err == nil && from != nil && !part.Restarted && after < end.Seq {
		part.Pruned, err = in.prunedWithin(ctx, after, end.Seq)
	}
	return part, err
}

// newestOf returns the newest events up to a sequence number that a filter chooses, the oldest of them first.
func (in *Inspection) newestOf(ctx context.Context, f engine.Filter, seq int64, limit int) (found []event.Event, err error) {
	if limit == 0 {
		return nil, nil
	}
	err = in.eachBack(ctx, seq, func(r *engine.Record) bool {
		if one := in.eventFor(r); in.chooses(f, r, one) {
			found = append(found, one)
		}
		return len(found) < limit
	})
	slices.Reverse(found)
	return found, err
}

// restored tells whether a place is of another log, or of a later state of this one, into which a backup was restored
// since.
func (in *Inspection) restored(ctx context.Context, place engine.FollowMark) bool {
	if place.Log != in.registry.Log || place.Seq > in.applied {
		return true
	}
	if place.ID == uuid.Nil {
		return false
	}
	r, err := in.event(ctx, place.Seq) // a restored log may have grown past the place
	return err == nil && r.ID != place.ID
}
