package buslog

import (
	"context"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// Publish implements [engine.EventPublisher]. The entry in the audit is stored after the events.
func (in *Inspection) Publish(ctx context.Context, records []engine.Record) error {
	if err := in.look(ctx); err != nil {
		return err
	}
	var err error
	for i := range records {
		records[i].Type = in.registry.nameOf(records[i].Type)
		if err == nil {
			err = records[i].FitsNewest(in.registry.newestOf(records[i].Type))
		}
	}
	in.mu.Unlock()
	if err != nil {
		return err
	}
	if err := in.Append(ctx, records); err != nil {
		return err
	}
	entry := event.AuditEntry{Actor: in.actor, Action: "publish", Detail: records[0].Type}
	for i := range records {
		if !records[i].Duplicate {
			entry.Count++
		}
	}
	if entry.Count == 0 {
		return nil
	}
	if len(records) == 1 {
		entry.EventID = records[0].ID
	}
	return in.edit(ctx, func() ([]*stream.Msg, error) { return []*stream.Msg{in.auditMsg(entry)}, nil })
}

// newestOf returns the newest version of the payload of an event type, by any of its names; 0 for a type that is not known.
func (r *registry) newestOf(eventType string) (newest int) {
	name := r.nameOf(eventType)
	for _, t := range r.Types {
		if t.Name == name {
			newest = max(newest, t.Version, 1)
		}
	}
	return newest
}
