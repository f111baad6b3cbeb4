//go:build !race

// With the race detector a sync.Pool loses some of what it is given, on purpose.

package main

import (
	"testing"

	"github.com/busgen/busgen/bench/events"
	"github.com/busgen/busgen/runtime"
)

// An allocation of an event is its receipt; the JSON of several shares memory. What else there is belongs to the
// transaction, which has one event here: the driver of SQLite allocates once or twice.
func TestAPublishedEventMakesOneAllocation(t *testing.T) {
	bus := benchBus(t)
	publish := func() error {
		_, err := events.PublishOrderPlaced(t.Context(), bus, sample)
		return err
	}
	if err := publish(); err != nil {
		t.Fatal(err)
	}
	const ofTheTransaction = 2
	if n := testing.AllocsPerRun(100, func() { publish() }); n > 1+ofTheTransaction {
		t.Errorf("publishing makes %v allocations", n)
	}
}

// An allocation of an event is its list of lines. What else there is belongs to many events.
func TestAHandledEventMakesOneAllocation(t *testing.T) {
	const runs, size = 20, 1000
	bus := benchBus(t)
	if err := bus.subscribe(t.Context(), 1, false, nil); err != nil {
		t.Fatal(err)
	}
	payloads := samples(size)
	n := testing.AllocsPerRun(runs, func() {
		if _, err := runtime.PublishBatch(t.Context(), bus.Bus, events.OrderPlacedType, payloads); err != nil {
			t.Fatal(err)
		}
		if err := bus.WaitIdle(t.Context()); err != nil {
			t.Fatal(err)
		}
	}) / size
	if n > 1+0.3 { // receipts of a batch are allocated together, as JSON is
		t.Errorf("publishing an event in a batch, and handling it, makes %.2f allocations", n)
	}
	t.Logf("%.2f", n)
}
