//go:build !race

// With the race detector a sync.Pool loses some of what it is given, on purpose.

package runtime_test

import (
	"context"
	"log/slog"
	"path/filepath"
	goruntime "runtime"
	"testing"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/examples/generated/eventstest"
	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
)

// A handler gets a copy of its payload; the memory that it was decoded into serves the next event, also
// behind middleware.
func TestAHandlerWithMiddlewareAllocatesOneCopyOfItsPayloadMore(t *testing.T) {
	short.Visit(t, "it takes seconds")
	once := func(opts ...runtime.SubscribeOption) float64 {
		bus, err := events.Open(t.Context(), filepath.Join(t.TempDir(), "events.db"), runtime.WithLogger(slog.New(slog.DiscardHandler)))
		conformance.Must(t, err)
		defer func() { conformance.Must(t, bus.Shutdown(context.Background())) }()
		done := make(chan struct{})
		_, err = events.SubscribeOrderPlaced(bus, "reader", func(context.Context, runtime.Event[events.OrderPlaced]) error {
			done <- struct{}{}
			return nil
		}, opts...)
		conformance.Must(t, err)
		conformance.Must(t, bus.Start(t.Context()))
		turn := func() {
			_, err := events.PublishOrderPlaced(t.Context(), bus, eventstest.SampleOrderPlaced())
			conformance.Must(t, err)
			<-done
		}
		return allocations(200, turn)
	}
	without, with := once(), once(runtime.WithHandlerMiddleware(passOn))
	for range 7 { // now and then a pool is emptied, more often on a machine with much to do
		without, with = min(without, once()), min(with, once(runtime.WithHandlerMiddleware(passOn)))
	}
	if t.Log(without, with); with > without+1.5 {
		t.Errorf("with middleware an event makes %v allocations, want one more than the %v without", with, without)
	}
}

// allocations is [testing.AllocsPerRun] without rounding: what the bus allocates now and then must not make a
// difference of one look like two.
func allocations(runs int, run func()) float64 {
	defer goruntime.GOMAXPROCS(goruntime.GOMAXPROCS(1))
	run()
	var before, after goruntime.MemStats
	goruntime.ReadMemStats(&before)
	for range runs {
		run()
	}
	goruntime.ReadMemStats(&after)
	return float64(after.Mallocs-before.Mallocs) / float64(runs)
}
