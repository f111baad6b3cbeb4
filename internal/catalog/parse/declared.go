package parse

import "github.com/busgen/busgen/internal/catalog"

// declared are the events of a catalogue, and what could not be read of them: its absence is no second fault.
type declared struct {
	events []*catalog.Event // in file order
	none   bool             // no file has one
	// incomplete is set if there are none, and if a name or a file could not be read: what is missed may be declared there.
	incomplete     bool
	brokenPayloads map[*catalog.Event]bool // events with findings about their payloads, or about types
	brokenKeys     map[*catalog.Event]bool // events with findings about their partition_by
}

func newDeclared(incomplete bool) *declared {
	return &declared{incomplete: incomplete, brokenPayloads: map[*catalog.Event]bool{}, brokenKeys: map[*catalog.Event]bool{}}
}
