package runtimetest_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/runtimetest"
)

// A breaker opens while its state cannot be written. No handler waits for that, no
// event is lost by it, and others see it once the disk is sound.
func TestABreakerWhoseStateCannotBeWrittenStopsNoDelivery(t *testing.T) {
	for name, fail := range map[string]func(d *runtimetest.Disk){
		"full": (*runtimetest.Disk).Fill, "read-only": (*runtimetest.Disk).Protect, "broken": (*runtimetest.Disk).Ruin, "locked": (*runtimetest.Disk).Lock,
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(t *testing.T, k *runtimetest.Kit) {
				var calls, handled atomic.Int32
				var broken atomic.Bool
				broken.Store(true)
				k.Setup(func(bus *runtime.Bus) error {
					_, err := runtime.Subscribe(bus, placedType, "receipts", func(context.Context, runtime.Event[orderPlaced]) error {
						if calls.Add(1); calls.Load() == 1 {
							time.Sleep(time.Second) // until the disk is as it shall be
						}
						if broken.Load() {
							return errBoom
						}
						handled.Add(1)
						return nil
					}, runtime.WithBreaker(breaker.On(), breaker.OpenFor(time.Minute)))
					return err
				})
				k.Start()
				place(t, k, 1, 2, 3, 4, 5, 6)
				fail(k.Disk)
				k.Advance(10 * time.Second)
				if b := k.Bus.Stats().Subscriptions[0].Breaker; b.State != "open" || calls.Load() != 4 {
					t.Errorf("after %d calls the breaker is %+v", calls.Load(), b)
				}
				k.Disk.Heal()
				k.Advance(10 * time.Second)
				file, err := inspect.Open(t.Context(), k.Path())
				if err != nil {
					t.Fatal(err)
				}
				defer file.Close()
				breakers, err := file.Breakers(t.Context())
				if err != nil || len(breakers) != 1 || breakers[0].LastError != errBoom.Error() {
					t.Errorf("on a sound disk others see %+v, %v", breakers, err)
				}
				broken.Store(false)
				k.Drain()
				if n := handled.Load(); n != 6 {
					t.Errorf("%d of 6 events were handled", n)
				}
			})
		})
	}
}
