package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/observe"
	"github.com/busgen/busgen/runtime/retry"
)

type leak struct{ Tank string }

func (leak) Validate() error { return nil }

// An observer hears when an event of priority critical fails for good.
func ExampleObserver_alert() {
	dir, err := os.MkdirTemp("", "alert")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	ctx := context.Background()
	settings := declare.DefaultSettings()
	settings.Retry = settings.Retry.With(retry.MaxAttempts(1))
	leaked := runtime.Define(runtime.Spec[leak]{Name: "tank.leaked", Priority: runtime.PriorityCritical, Settings: settings})
	page := observe.Observer{Alert: func(i observe.AlertInfo) { fmt.Println("alert:", i.Type, i.Reason, i.LastError) }}
	bus, err := runtime.Open(ctx, filepath.Join(dir, "plant.db"), runtime.NewCatalogue(leaked),
		runtime.WithObserver(page), runtime.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		fmt.Println(err)
		return
	}
	runtime.Subscribe(bus, leaked, "close-valve", func(context.Context, runtime.Event[leak]) error {
		return errors.New("the valve is stuck")
	})
	bus.Start(ctx)
	runtime.Publish(ctx, bus, leaked, leak{Tank: "north"})
	bus.WaitIdle(ctx)
	bus.Shutdown(ctx) // waits for the observer
	// Output: alert: tank.leaked max_attempts the valve is stuck
}
