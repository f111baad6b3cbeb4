//go:build !race

// With the race detector a sync.Pool loses some of what it is given, on purpose.

package runtime_test

import (
	"context"
	"log/slog"
	"math"
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
	once := func(opts ...runtime.SubscribeOption) int {
		bus, err := events.Open(t.Context(), filepath.Join(t.TempDir(), "events.db"), runtime.WithLogger(slog.New(slog.DiscardHandler)))
		conformance.Must(t, err)
		defer func() { conformance.Must(t, bus.Shutdown(context.Background())) }()
		done := make(chan struct{})
		_, err = events.SubscribeOrderPlaced(bus, events.UndeclaredOrderPlaced("reader"), func(context.Context, runtime.Event[events.OrderPlaced]) error {
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
	if t.Log(without, with); with > without+1 {
		t.Errorf("with middleware an event makes %v allocations, want one more than the %v without", with, without)
	}
}

// allocations is how many allocations the leanest run makes. Others make more: what the bus does now and then, which is
// oftener per run on a machine with much to do, and what is made anew for a pool that was emptied.
func allocations(runs int, run func()) int {
	defer goruntime.GOMAXPROCS(goruntime.GOMAXPROCS(1))
	fewest := math.MaxInt
	for range runs {
		var before, after goruntime.MemStats
		goruntime.ReadMemStats(&before)
		run()
		goruntime.ReadMemStats(&after)
		fewest = min(fewest, int(after.Mallocs-before.Mallocs))
	}
	return fewest
}
