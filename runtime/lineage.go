package runtime

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/dispatch"
	"github.com/busgen/busgen/runtime/internal/dispatch/errs"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// defaultHopLimit is far beyond what programs mean, and soon reached by those that
// publish in a circle.
const defaultHopLimit = 64

// HopLimitError is returned when a handler publishes with its context and the event would
// have more hops than the bus allows ([WithHopLimit]). It was not stored. A handler that
// returns it, as it is or wrapped, fails for good: the event that it handles becomes a dead
// letter with reason permanent.
//
//	type HopLimitError struct {
//		EventType  string    // what was to be published
//		Parent     uuid.UUID // the event whose handler has called Publish
//		ParentType string
//		Hops       int // what the event would have had
//		Limit      int
//	}
type HopLimitError = errs.HopLimitError

// WithHopLimit sets how many hops an event may be from its root: the event that a handler
// publishes with its context has one hop more than the event that it handles, and all
// others have none. The default is 64. The limit ends programs whose handlers publish in a
// circle. n is at least 1. See [HopLimitError].
func WithHopLimit(n int) Option {
	return func(c *config) error {
		if n < 1 {
			return fmt.Errorf("WithHopLimit: %d is not positive", n)
		}
		c.hopLimit = n
		return nil
	}
}

// ownKey returns the first key that only the bus writes, or "".
func ownKey(metadata map[string]string) string {
	for _, key := range engine.OwnKeys() {
		if _, given := metadata[key]; given {
			return key
		}
	}
	return ""
}

// inherited are the keys of the metadata that an event takes over from its parent,
// unless it has its own.
var inherited = []string{event.CorrelationKey, engine.TraceParentKey, engine.TraceStateKey}

// childMetadata returns the metadata of an event that the handler of an attempt
// publishes: what the caller has given, which may be nil, and where the event comes from.
// It is not part of the limit of what a caller may give.
func (b *innerBus) childMetadata(a *dispatch.Attempt, eventType string, given map[string]string) ([]byte, error) {
	of := a.Delivery
	if a.Whole() {
		of = farthest(a.Batch())
	}
	parent := metadataOf(of.Metadata)
	hops := engine.LineageIn(parent).Hops + 1
	if hops > b.config.hopLimit {
		return nil, &HopLimitError{EventType: eventType, Parent: of.ID, ParentType: of.Type, Hops: hops, Limit: b.config.hopLimit}
	}
	child := make(map[string]string, len(given)+6)
	for key, value := range given {
		child[key] = value
	}
	return encodeChild(child, parent, of, a.HandlerName(), hops)
}

// adopting returns what makes events that are published by SQL the children of the event of an attempt.
func (b *innerBus) adopting(a *dispatch.Attempt) func(r *engine.Record) error {
	if a == nil {
		return nil
	}
	return func(r *engine.Record) (err error) {
		r.Metadata, err = b.childMetadata(a, r.Type, metadataOf(r.Metadata))
		return err
	}
}

// farthest returns the delivery of a batch whose event is farthest from its root, the first
// of several: so the limit of hops holds for what is published for the batch as a whole.
func farthest(b *dispatch.Batch) (of *engine.Delivery) {
	most := -1
	for _, a := range b.Items() {
		if hops := engine.LineageIn(metadataOf(a.Metadata)).Hops; hops > most {
			of, most = a.Delivery, hops
		}
	}
	return of
}

// noticeMetadata returns the metadata of a dead-letter notice: it belongs to the delivery
// that is dead, and has the metadata of its event. It has no limit of hops: a dead letter
// is always announced, and what the handlers of the notice publish has one.
func noticeMetadata(d *engine.Delivery, subscription string) ([]byte, error) {
	parent := metadataOf(d.Metadata)
	child := make(map[string]string, len(parent)+4)
	for key, value := range parent {
		child[key] = value
	}
	for _, key := range append(engine.HandlingKeys(), engine.ScheduleKey, engine.ScheduledForKey) {
		delete(child, key) // they are of the event, not of the notice
	}
	return encodeChild(child, parent, d, subscription, engine.LineageIn(parent).Hops+1)
}

func encodeChild(child, parent map[string]string, of *engine.Delivery, subscription string, hops int) ([]byte, error) {
	// A trace state says something of its trace parent only.
	_, traced := child[engine.TraceParentKey]
	for _, key := range inherited {
		if _, has := child[key]; has || traced && key == engine.TraceStateKey {
			continue
		}
		if value, has := parent[key]; has {
			child[key] = value
		}
	}
	if child[event.CorrelationKey] == "" {
		child[event.CorrelationKey] = of.ID.String() // the root
	}
	child[engine.ParentKey], child[engine.PublishedByKey], child[engine.HopsKey] = of.ID.String(), subscription, strconv.Itoa(hops)
	return json.Marshal(child)
}

// setLineage sets in e what the stored metadata of an event says: what publishers have given,
// and apart from that where the event comes from.
func setLineage(e *Head, stored []byte) {
	metadata := metadataOf(stored)
	if metadata == nil {
		return
	}
	l := engine.LineageIn(metadata)
	e.CorrelationID, e.ParentID, e.PublishedBy, e.Hops = l.CorrelationID, l.ParentID, l.PublishedBy, l.Hops
	e.Schedule, e.ScheduledFor = l.Schedule, l.ScheduledFor
	if ownKey(metadata) != "" {
		for _, key := range engine.OwnKeys() {
			delete(metadata, key)
		}
	}
	e.Metadata = metadata
}
