package runtime

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// PublishingInfo describes a call that is about to publish events; see
// [Observer].Publishing.
type PublishingInfo struct {
	Type string
	Size int // how many events; 1 outside of PublishBatch
	// Metadata is what the caller has given, with [WithMetadata] and others. It must not be
	// changed.
	Metadata map[string]string
	Due      time.Time // of delayed events; else zero
	// ParentID is the event whose handler publishes with its context, or zero. Staged says
	// that the events are stored with the success of that handler.
	ParentID uuid.UUID
	Staged   bool
}

// Publishing is what an observer leaves with a call that publishes; see
// [Observer].Publishing. All of it is optional.
type Publishing struct {
	// Metadata is added to that of each event of the call. What the caller has given under the
	// same key stays, and so do the bus's own keys.
	Metadata map[string]string
	// Ended is called when the events are stored, or staged, or the call has failed.
	Ended func(PublishEnd)
}

// PublishEnd says what came of a call that publishes.
type PublishEnd struct {
	ID         uuid.UUID // of the first event; of an earlier one if that is a duplicate. Zero if the call has failed
	Duplicates int       // how many events were not stored because their dedupe keys were known
	Err        error     // what the call returns
}

// publishEnded is what an observer has left.
type publishEnded struct {
	of   int // the observer
	call func(PublishEnd)
}

// begin asks the observers what they leave with the call.
func (b *batch) begin(ctx context.Context) {
	o := &b.bus.observers
	for i := range o.all {
		f := o.all[i].Publishing
		if f == nil {
			continue
		}
		info := PublishingInfo{Type: b.typ, Size: len(b.records), Metadata: b.config.metadata, Due: b.config.due, Staged: b.staged()}
		if b.attempt != nil {
			info.ParentID = b.attempt.ID
		}
		var left Publishing
		o.guarded(fault{i, "Publishing"}, func() { left = f(ctx, info) })
		if len(left.Metadata) > 0 {
			b.config.metadata = b.config.with(left.Metadata)
		}
		if left.Ended != nil {
			b.ended = append(b.ended, publishEnded{i, left.Ended})
		}
	}
}

// with returns the metadata of the caller with what observers add, which replaces nothing
// and is not the bus's own.
func (c *publishConfig) with(added map[string]string) map[string]string {
	all := make(map[string]string, len(c.metadata)+len(added))
	for key, value := range added {
		if !slices.Contains(engine.OwnKeys(), key) {
			all[key] = value
		}
	}
	maps.Copy(all, c.metadata)
	return all
}

// encodeMetadata returns the metadata of the events of the call, as it is stored.
func (b *batch) encodeMetadata() (metadata []byte, err error) {
	given := b.config.own.Put(b.config.metadata)
	metadata, err = encodeMetadata(b.bus, b.of, given, len(b.bus.config.publishing) == 0)
	if err == nil && b.attempt != nil {
		metadata, err = b.bus.childMetadata(b.attempt, b.typ, given)
	}
	return metadata, err
}

// over tells the observers that the call has ended, and returns its error.
func (b *batch) over(err error) error {
	if b.ended == nil {
		return err
	}
	end := PublishEnd{Err: err}
	if err == nil {
		end.ID = b.records[0].ID
		for i := range b.records {
			if b.records[i].Duplicate {
				end.Duplicates++
			}
		}
	}
	for _, f := range b.ended {
		b.bus.observers.guarded(fault{f.of, "Publishing.Ended"}, func() { f.call(end) })
	}
	return err
}
