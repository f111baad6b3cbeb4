package runtime_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite"
)

// slowEngine is SQLite with a log so long that a list of events ends when it is closed.
type slowEngine struct {
	sqlite.Engine
	reads chan bool // closed when the list is read
}

func (e slowEngine) Inspect(ctx context.Context, target, actor string) (engine.Inspection, error) {
	log, err := e.Engine.Inspect(ctx, target, actor)
	return &slowInspection{Inspection: log, reads: e.reads, closed: make(chan bool)}, err
}

type slowInspection struct {
	engine.Inspection
	reads, closed chan bool
	once          sync.Once
}

func (i *slowInspection) Events(context.Context, engine.Filter, event.Page, int) (event.EventSearch, error) {
	close(i.reads)
	<-i.closed
	return event.EventSearch{}, engine.ErrClosed
}

func (i *slowInspection) Close() error {
	i.once.Do(func() { close(i.closed) })
	return i.Inspection.Close()
}

// The handler that runs at the shutdown waits for the end of Find.
func TestFindEndsAsSoonAsTheShutdownBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := slowEngine{reads: make(chan bool)}
		bus, err := runtime.Open(t.Context(), filepath.Join(t.TempDir(), "events.db"), conformance.Catalogue, runtime.WithEngine(slow))
		conformance.Must(t, err)
		found := make(chan error, 1)
		interrupted := make(chan error, 1)
		_, err = runtime.Subscribe(bus, conformance.PlacedType, "waits", func(ctx context.Context, _ runtime.Event[conformance.OrderPlaced]) error {
			for _, err := range runtime.Find(context.Background(), bus, conformance.PlacedType, runtime.Query{}) {
				found <- err
			}
			interrupted <- ctx.Err()
			return nil
		})
		conformance.Must(t, err)
		conformance.Must(t, bus.Start(t.Context()))
		_, err = runtime.Publish(t.Context(), bus, conformance.PlacedType, conformance.OrderPlaced{})
		conformance.Must(t, err)
		<-slow.reads
		conformance.Must(t, bus.Shutdown(context.Background()))
		if err := <-found; !errors.Is(err, runtime.ErrShutdown) {
			t.Errorf("Find ends with %v", err)
		}
		if err := <-interrupted; err != nil {
			t.Errorf("before that the handler was interrupted: %v", err)
		}
	})
}
