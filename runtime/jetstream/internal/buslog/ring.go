package buslog

import (
	"cmp"
	"slices"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// ringBytes is how many bytes of the newest events are kept in memory, for the subscriptions that keep up, and
// Sizes.Ring how many events.
const ringBytes = 8 << 20

// ring holds the newest events, under the names with which they were published.
type ring struct {
	from   int64 // every event at or after this is here
	events []*engine.Record
	slots  []uint8 // of the events
	bytes  int
}

func (r *ring) add(e *engine.Record) {
	r.events, r.slots = append(r.events, e), append(r.slots, uint8(slotOf(e)))
	r.bytes += len(e.Payload) + len(e.Metadata)
	drop := 0
	for len(r.events)-drop > 1 && (len(r.events)-drop > Sizes.Ring || r.bytes > ringBytes) {
		old := r.events[drop]
		r.bytes -= len(old.Payload) + len(old.Metadata)
		r.from = old.Seq + 1
		drop++
	}
	if drop > 0 {
		clear(r.events[:drop])
		r.events, r.slots = r.events[drop:], r.slots[drop:]
	}
}

// remove takes events out, by their sequence numbers.
func (r *ring) remove(gone map[int64]bool) {
	left := 0
	for i, e := range r.events {
		if !gone[e.Seq] {
			r.events[left], r.slots[left] = e, r.slots[i]
			left++
		}
	}
	clear(r.events[left:])
	r.events, r.slots = r.events[:left], r.slots[:left]
}

// after returns the events from a sequence number on, which is not before from, and their slots.
func (r *ring) after(seq int64) ([]*engine.Record, []uint8) {
	at, _ := slices.BinarySearchFunc(r.events, seq, func(e *engine.Record, seq int64) int { return cmp.Compare(e.Seq, seq) })
	return r.events[at:], r.slots[at:]
}
