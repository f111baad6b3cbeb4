package buslog

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
)

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
		event := in.eventFor(r)
		if !in.chooses(filter, r, event) {
			return true
		}
		if part.More = len(part.Events) == f.Limit; part.More {
			last := part.Events[f.Limit-1]
			end.Seq, end.ID = last.Seq, last.ID
			return false
		}
		part.Events = append(part.Events, event)
		return true
	})
	part.Next = end.Cursor()
	if err == nil && from != nil && !part.Restarted && after < end.Seq {
		part.Pruned, err = in.prunedWithin(ctx, after, end.Seq)
	}
	return part, err
}

// newestOf returns the newest events up to a sequence number that a filter chooses, the
// oldest of them first. The caller holds mu.
func (in *Inspection) newestOf(ctx context.Context, f engine.Filter, seq int64, limit int) (found []event.Event, err error) {
	if limit == 0 {
		return nil, nil
	}
	err = in.eachBack(ctx, seq, func(r *engine.Record) bool {
		if event := in.eventFor(r); in.chooses(f, r, event) {
			found = append(found, event)
		}
		return len(found) < limit
	})
	slices.Reverse(found)
	return found, err
}

// restored tells whether a place is of another log, or of a later state of this one, into
// which a backup was restored since. The caller holds mu.
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
