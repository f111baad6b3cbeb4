package engine

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/event"
)

// The keys of an event's metadata that the bus gives a meaning.
const (
	// The bus itself writes these for events that handlers publish, and nobody else.
	ParentKey      = "parent_id"    // the id of the event whose handler has published this one
	PublishedByKey = "published_by" // the subscription of that handler
	HopsKey        = "hops"         // the parent's, and one more; decimal

	// What a publisher says of the deliveries of an event, written by the bus itself too.
	HandlingPrefix  = "busgen."
	PriorityKey     = HandlingPrefix + "priority"
	TimeoutKey      = HandlingPrefix + "timeout"
	ExpiresAfterKey = HandlingPrefix + "expires_after"

	// Those of the W3C Trace Context.
	TraceParentKey = "traceparent"
	TraceStateKey  = "tracestate"
)

// HandlingKeys returns the metadata keys of what a publisher says of the deliveries.
func HandlingKeys() []string { return []string{PriorityKey, TimeoutKey, ExpiresAfterKey} }

// OwnKeys returns the metadata keys that only the bus writes.
func OwnKeys() []string {
	return []string{ParentKey, PublishedByKey, HopsKey, PriorityKey, TimeoutKey, ExpiresAfterKey, ScheduleKey, ScheduledForKey}
}

// Lineage is what the metadata of an event says of where it comes from. The zero value
// is that of an event without metadata.
type Lineage struct {
	CorrelationID string
	ParentID      uuid.UUID
	PublishedBy   string
	Hops          int
	Schedule      string    // that has published it; ScheduledFor is zero without
	ScheduledFor  time.Time // UTC
}

// LineageOf reads the lineage in stored metadata. What does not have the form in which
// the bus writes it is left zero.
func LineageOf(metadata []byte) Lineage {
	if len(metadata) == 0 {
		return Lineage{}
	}
	var texts map[string]string
	json.Unmarshal(metadata, &texts) // of a damaged file: the rest is read
	return LineageIn(texts)
}

// LineageIn is LineageOf for metadata that is decoded.
func LineageIn(metadata map[string]string) (l Lineage) {
	l.CorrelationID, l.PublishedBy = metadata[event.CorrelationKey], metadata[PublishedByKey]
	if text, ok := metadata[ParentKey]; ok {
		l.ParentID, _ = uuid.Parse(text)
	}
	if text, ok := metadata[HopsKey]; ok {
		hops, err := strconv.Atoi(text)
		if err == nil {
			l.Hops = max(hops, 0)
		}
	}
	if text, ok := metadata[ScheduledForKey]; ok {
		if at, err := time.Parse(time.RFC3339Nano, text); err == nil && metadata[ScheduleKey] != "" {
			l.Schedule, l.ScheduledFor = metadata[ScheduleKey], at.UTC()
		}
	}
	return l
}
