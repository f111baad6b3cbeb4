package systest

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/breaker"
	. "github.com/busgen/busgen/runtime/internal/conformance"
)

// A group skips a member whose breaker is open. Its event comes back, which does not count
// as a snooze, because no handler has asked for it.
func TestOnlySnoozesThatHandlersAskForCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.OpenFragile(t)
		var broken atomic.Bool
		broken.Store(true)
		subscribe := func(name string, handler runtime.Handler[OrderPlaced]) {
			_, err := runtime.Subscribe(f.Bus, FragileType, name, handler, runtime.InGroup("both"), runtime.WithMaxSnoozes(1),
				runtime.WithBreaker(breaker.MinSamples(1), breaker.Threshold(0), breaker.OpenFor(time.Minute)))
			Must(t, err)
		}
		subscribe("first", func(context.Context, runtime.Event[OrderPlaced]) error { return nil })
		subscribe("second", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			if broken.Load() {
				return ErrBoom
			}
			return nil
		})
		f.MustStart()
		f.Fragile(1, 1)
		time.Sleep(10 * time.Minute) // a probe a minute fails, and between them it is passed over
		if n := queryFile(t, f.Path, "SELECT state || ' ' || snoozes FROM busgen_deliveries"); n != "waiting 0" {
			t.Errorf("the delivery is %s, want waiting 0", n)
		}
		broken.Store(false)
		f.Idle()
		if got := queryFile(t, f.Path, "SELECT status FROM events"); got != "done" {
			t.Errorf("the event is %s", got)
		}
	})
}
