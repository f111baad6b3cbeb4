package buslog

import (
	"cmp"
	"slices"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// How much of the newest events is kept in memory, for the subscriptions that keep up.
const (
	ringEvents = 16384
	ringBytes  = 8 << 20
)

// ring holds the newest events, under the names with which they were published.
type ring struct {
	from   int64 // every event at or after this is here
	events []*engine.Record
	bytes  int
}

func (r *ring) add(e *engine.Record) {
	r.events = append(r.events, e)
	r.bytes += len(e.Payload) + len(e.Metadata)
	drop := 0
	for len(r.events)-drop > 1 && (len(r.events)-drop > ringEvents || r.bytes > ringBytes) {
		old := r.events[drop]
		r.bytes -= len(old.Payload) + len(old.Metadata)
		r.from = old.Seq + 1
		drop++
	}
	if drop > 0 {
		clear(r.events[:drop])
		r.events = r.events[drop:]
	}
}

// after returns the events from a sequence number on, which is not before from.
func (r *ring) after(seq int64) []*engine.Record {
	at, _ := slices.BinarySearchFunc(r.events, seq, func(e *engine.Record, seq int64) int { return cmp.Compare(e.Seq, seq) })
	return r.events[at:]
}
