package runtime

import (
	"context"
	"maps"
	"slices"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/observe"
)

// publishEnded is what an observer has left.
type publishEnded struct {
	of   int // the observer
	call func(observe.PublishEnd)
}

// begin asks the observers what they leave with the call.
func (b *batch) begin(ctx context.Context) {
	o := &b.bus.observers
	for i := range o.all {
		f := o.all[i].Publishing
		if f == nil {
			continue
		}
		info := observe.PublishingInfo{Type: b.typ, Size: len(b.records), Metadata: b.config.metadata, Due: b.config.due, Staged: b.staged()}
		if b.attempt != nil {
			info.ParentID = b.attempt.ID
		}
		var left observe.Publishing
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
	end := observe.PublishEnd{Err: err}
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
