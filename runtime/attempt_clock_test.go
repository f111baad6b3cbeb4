package runtime_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/bench/events" // without limits, with which the clock is read for each attempt
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/observe"
)

// An attempt may begin at the time at which the one before has ended, so that the clock is read once for both. That
// must not make an attempt shorter: not by what observers do in between, and not by what a worker waits for.
func TestAnAttemptHasItsWholeTimeoutWhateverComesBeforeIt(t *testing.T) {
	const timeout, between = 5 * time.Second, 2 * time.Second
	for name, test := range map[string]struct {
		observer observe.Observer
		paused   bool // after the first attempt
	}{
		"after an observer of the success before": {observer: observe.Observer{Handled: func(observe.HandledInfo) { time.Sleep(between) }}},
		"after a pause": {paused: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				opts := []runtime.Option{runtime.WithLogger(slog.New(slog.DiscardHandler))}
				if !test.paused {
					opts = append(opts, runtime.WithObserver(test.observer))
				}
				bus, err := events.Open(t.Context(), filepath.Join(t.TempDir(), "events.db"), opts...)
				conformance.Must(t, err)
				defer func() { conformance.Must(t, bus.Shutdown(context.Background())) }()
				orders := make([]events.OrderPlaced, 200) // so many that nothing is read before some of them are handled
				left := make(chan time.Duration, len(orders))
				_, err = events.SubscribeOrderPlaced(bus, "reader", func(ctx context.Context, _ runtime.Event[events.OrderPlaced]) error {
					deadline, _ := ctx.Deadline()
					left <- time.Until(deadline)
					if len(left) == 1 && test.paused {
						return bus.PauseSubscription(context.Background(), "reader", "")
					}
					return nil
				}, runtime.WithTimeout(timeout))
				conformance.Must(t, err)
				conformance.Must(t, bus.Start(t.Context()))
				for i := range orders {
					orders[i].Currency = events.CurrencyEUR
				}
				_, err = runtime.PublishBatch(t.Context(), bus, events.OrderPlacedType, orders)
				conformance.Must(t, err)
				time.Sleep(between)
				if test.paused {
					conformance.Must(t, bus.ResumeSubscription(t.Context(), "reader"))
				}
				for range 3 {
					if got := <-left; got != timeout {
						t.Errorf("a handler has %v, want %v", got, timeout)
					}
				}
			})
		})
	}
}
