package buslog

import (
	"testing"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// The slots of events are kept beside them, and stay with them when events are pruned or pushed out.
func TestTheEventsInMemoryKeepTheirSlots(t *testing.T) {
	r := ring{from: 1}
	all := Sizes.Ring + 100
	for seq := int64(1); seq <= int64(all); seq++ {
		r.add(&engine.Record{Seq: seq, ID: uuid.New()})
	}
	r.remove(map[int64]bool{200: true, 201: true, int64(all): true})
	events, slots := r.after(150)
	if want := all - 149 - 3; len(events) != want || len(slots) != want {
		t.Fatalf("%d events and %d slots are left, want %d", len(events), len(slots), want)
	}
	for i, e := range events {
		if int(slots[i]) != slotOf(e) {
			t.Fatalf("event %d has slot %d, want %d", e.Seq, slots[i], slotOf(e))
		}
	}
}
