package queue

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// Own is what the publisher of an event has said about its deliveries, in all
// subscriptions. The zero value says nothing. It is stored in the event's metadata,
// under keys of the bus.
type Own struct {
	Priority     *Priority     // instead of that of the event type; nil if nothing is said
	Timeout      time.Duration // of one attempt, if the settings allow more; 0 if nothing is said
	ExpiresAfter time.Duration // if the settings allow more; 0 if nothing is said
}

// PriorityOver returns the priority of an event of a type with the given one.
func (o Own) PriorityOver(ofType Priority) Priority {
	if o.Priority != nil {
		return *o.Priority
	}
	return ofType
}

// Put adds what o says to the metadata of an event, and returns it. The map may be nil, and
// is not changed.
func (o Own) Put(metadata map[string]string) map[string]string {
	if o == (Own{}) {
		return metadata
	}
	with := make(map[string]string, len(metadata)+3)
	for key, value := range metadata {
		with[key] = value
	}
	if o.Priority != nil {
		with[engine.PriorityKey] = o.Priority.String()
	}
	if o.Timeout > 0 {
		with[engine.TimeoutKey] = o.Timeout.String()
	}
	if o.ExpiresAfter > 0 {
		with[engine.ExpiresAfterKey] = o.ExpiresAfter.String()
	}
	return with
}

// ownOf reads what the publisher of an event has said; nil for nothing. What does not have
// the form in which Put writes it says nothing.
func ownOf(d *engine.Delivery) *Own {
	if !bytes.Contains(d.Metadata, ownPrefix) {
		return nil
	}
	var texts map[string]string
	json.Unmarshal(d.Metadata, &texts) // of a damaged file: the rest is read
	o := Own{Timeout: positive(texts[engine.TimeoutKey]), ExpiresAfter: positive(texts[engine.ExpiresAfterKey])}
	for p := range priorities {
		if priorities[p] == texts[engine.PriorityKey] {
			said := Priority(p)
			o.Priority = &said
		}
	}
	if o == (Own{}) {
		return nil
	}
	return &o
}

// ownPrefix is what the keys begin with, in JSON as the bus writes it.
var ownPrefix = []byte(`"` + engine.HandlingPrefix)

func positive(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0
	}
	return max(d, 0)
}

// priorities are the names of the priorities.
var priorities = [...]string{Normal: "normal", High: "high", Low: "low", Critical: "critical"}

// String returns the name of the priority, as in the catalogue.
func (p Priority) String() string {
	if p < 0 || int(p) >= len(priorities) {
		return "Priority(" + strconv.Itoa(int(p)) + ")"
	}
	return priorities[p]
}

// Express returns how far events of the priority go ahead of a backlog.
func (p Priority) Express() engine.Express {
	switch p {
	case Critical:
		return engine.Critical
	case High:
		return engine.High
	}
	return 0
}

// Valid tells whether it is one of the constants.
func (p Priority) Valid() bool { return p >= 0 && int(p) < len(priorities) }

// Priority orders the deliveries that wait in one subscription.
type Priority int8

// The priorities. Normal is the zero value.
const (
	Normal Priority = iota
	High
	Low
	Critical
)
