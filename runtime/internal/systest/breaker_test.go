package systest

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	. "github.com/busgen/busgen/runtime/internal/conformance"
)

// Every way in which the one probe of a half-open breaker can end.
func TestAProbeNeverLeavesTheSubscriptionStuck(t *testing.T) {
	short.Skip(t, "all moments of a probe are tried")
	type probe struct {
		do    func(ctx context.Context, f *Fixture, e runtime.Event[OrderPlaced]) error
		again bool // the breaker opens again: it takes 30 s more
	}
	for name, test := range map[string]probe{
		"it succeeds":       {do: func(context.Context, *Fixture, runtime.Event[OrderPlaced]) error { return nil }},
		"it fails":          {do: func(context.Context, *Fixture, runtime.Event[OrderPlaced]) error { return ErrBoom }, again: true},
		"it panics":         {do: func(context.Context, *Fixture, runtime.Event[OrderPlaced]) error { panic("boom") }, again: true},
		"it exits":          {do: func(context.Context, *Fixture, runtime.Event[OrderPlaced]) error { goruntime.Goexit(); return nil }, again: true},
		"it fails for good": {do: func(context.Context, *Fixture, runtime.Event[OrderPlaced]) error { return runtime.Permanent(ErrBoom) }, again: true},
		"it is snoozed":     {do: func(context.Context, *Fixture, runtime.Event[OrderPlaced]) error { return runtime.Snooze(time.Second) }},
		"it is discarded":   {do: func(context.Context, *Fixture, runtime.Event[OrderPlaced]) error { return runtime.Discard("no") }},
		"it times out": {do: func(ctx context.Context, _ *Fixture, _ runtime.Event[OrderPlaced]) error {
			<-ctx.Done()
			return ctx.Err()
		}, again: true},
		"it ignores its timeout": {do: func(context.Context, *Fixture, runtime.Event[OrderPlaced]) error { time.Sleep(time.Hour); return nil }, again: true},
		"its event is purged meanwhile": {do: func(ctx context.Context, f *Fixture, e runtime.Event[OrderPlaced]) error {
			return errors.Join(execFile(f.Path, fmt.Sprintf("DELETE FROM busgen_deliveries WHERE seq = (SELECT seq FROM busgen_log WHERE id = x'%x')", e.ID[:])), runtime.Snooze(time.Second))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := SQLite.OpenFragile(t)
				var phase atomic.Int32 // 0 broken, 1 the probe, 2 working
				var handled atomic.Int32
				_, err := runtime.Subscribe(f.Bus, FragileType, "fragile", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
					switch {
					case phase.Load() == 0:
						return runtime.Permanent(ErrBoom)
					case phase.CompareAndSwap(1, 2):
						return test.do(ctx, f, e)
					}
					handled.Add(1)
					return nil
				}, runtime.WithConcurrency(4), runtime.WithTimeout(5*time.Second))
				Must(t, err)
				f.MustStart()
				f.Fragile(1, 4)
				synctest.Wait()
				phase.Store(1)
				f.Fragile(5, 24)
				time.Sleep(45 * time.Second) // open for 30 s, and the probe
				if got := handled.Load() > 0; got == test.again {
					t.Errorf("45 s after it opened other events were handled: %v, want %v", got, !test.again)
				}
				f.Idle()
				time.Sleep(2 * time.Hour) // until the handler that was left behind is back
				if got := handled.Load(); got < 19 {
					t.Errorf("%d events were handled after the probe, want the other 19 at least", got)
				}
			})
		})
	}
}
