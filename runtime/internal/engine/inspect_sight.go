package engine

import "github.com/busgen/busgen/runtime/event"

// Sight reports whether somebody finds a text in a part of an event, in what he may see of it. The part is one of its
// texts: the payload itself, its metadata, its correlation id, or the error of an attempt.
type Sight func(eventType string, version int, payload, part []byte, text string) bool

// Filter is a filter of an operator who may not see everything. With a Sight, Text and CorrelationID choose an event
// only by what it shows: else the rest could be read by asking for one text after the other.
type Filter struct {
	event.Filter
	Sight Sight // nil for all
}
