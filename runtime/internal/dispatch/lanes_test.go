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
	freed := func(d *engine.Delivery) { d.Lane = "key a" }
	failed := func(d *engine.Delivery) { d.Failures = 1 }
	items := []queue.Item{item(7, nil), item(9, failed), item(3, freed), item(1, failed), item(5, freed)}
	inOrder(items)
	var got []int64
	for _, i := range items {
		got = append(got, i.Seq)
	}
	if want := []int64{3, 9, 5, 1, 7}; !slices.Equal(got, want) {
		t.Errorf("the order is %v, want %v: what failed keeps its place", got, want)
	}
}
