package dispatch

import (
	"slices"
	"testing"

	"github.com/busgen/busgen/runtime/internal/dispatch/queue"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// What a process had freed when it died is due later than what it had in memory.
func TestWhatComesForTheFirstTimeIsInTheOrderOfTheLog(t *testing.T) {
	item := func(seq int64, change func(d *engine.Delivery)) queue.Item {
		d := &engine.Delivery{Record: &engine.Record{Seq: seq}}
		if change != nil {
			change(d)
		}
		return queue.Item{Delivery: d}
	}
	freed := func(d *engine.Delivery) { d.Waitlist = "key a" }
	failed := func(d *engine.Delivery) { d.Failures = 1 }
	retried := func(d *engine.Delivery) { d.Waitlist, d.Failures = "breaker a", 1 }
	for strict, want := range map[bool][]int64{false: {3, 9, 5, 1, 7, 2}, true: {2, 9, 3, 1, 5, 7}} {
		items := []queue.Item{item(7, nil), item(9, failed), item(3, freed), item(1, failed), item(5, freed), item(2, retried)}
		(&parking{waitlists: waitlists{&core{cfg: Config{Strict: strict}}}}).inOrder(items)
		var got []int64
		for _, i := range items {
			got = append(got, i.Seq)
		}
		if !slices.Equal(got, want) {
			t.Errorf("in a strict order (%v) it is %v, want %v: what failed keeps its place", strict, got, want)
		}
	}
}
