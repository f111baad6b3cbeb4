package memory

import (
	"context"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// Follow implements [engine.EventReader]. Nobody replaces a log in memory.
func (in *inspection) Follow(_ context.Context, f engine.Following) (part engine.Followed, err error) {
	from, err := f.Mark()
	if err == nil {
		err = f.Check()
	}
	if err != nil {
		return part, err
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	after, end := int64(0), in.last
	if from != nil {
		after = from.Seq
	}
	var found []engine.Event
	in.eachFrom(after+1, func(r *engine.Record) {
		if event := in.eventOf(r); in.chooses(f.Filter, r, event) {
			found = append(found, event)
		}
	})
	switch {
	case from == nil && f.Newest:
		found = found[max(0, len(found)-f.Limit):]
	case len(found) > f.Limit:
		part.More, found = true, found[:f.Limit]
		end = found[f.Limit-1].Seq
	}
	for seq := after + 1; from != nil && seq <= end; seq++ {
		if in.events[seq] == nil {
			part.Pruned++
		}
	}
	part.Events, part.Next = found, engine.FollowMark{Seq: end, At: time.Now()}.Cursor()
	return part, nil
}
