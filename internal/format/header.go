package format

import (
	"slices"
	"strings"
)

// ownHeaders are keys of metadata that only the bus writes. Those that begin with busgen. are more.
var ownHeaders = []string{"parent_id", "published_by", "hops"}

// OwnHeader tells whether only the bus itself writes a key of metadata.
func OwnHeader(key string) bool {
	return slices.Contains(ownHeaders, key) || strings.HasPrefix(key, "busgen.")
}

// ReservedHeader says why a catalogue cannot declare a header of this name, and what to do; empty if it can.
func ReservedHeader(name string) string {
	switch {
	case OwnHeader(name):
		return "the bus itself writes it: choose another name"
	case name == "correlation_id":
		return "it is the correlation id of every event: WithCorrelationID sets it, and Event has it as CorrelationID"
	case name == "traceparent" || name == "tracestate":
		return "it belongs to a trace, which the bus hands on: WithMetadata sets it"
	}
	return ""
}
