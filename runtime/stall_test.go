package runtime_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/observe"
)

// deaf is a log whose consumers wake nobody, or late.
type deaf struct {
	engine.Log
	late  time.Duration // 0 for never
	looks *atomic.Int32
}

type deafConsumer struct {
	engine.Consumer
	deaf
}

func (l deaf) Consumer(ctx context.Context, spec engine.ConsumerSpec) (engine.Consumer, error) {
	c, err := l.Log.Consumer(ctx, spec)
	return deafConsumer{c, l}, err
}

func (l deaf) LetGo(ctx context.Context, c engine.Consumer) error {
	return l.Log.LetGo(ctx, c.(deafConsumer).Consumer)
}

func (l deaf) WaitSettled(ctx context.Context, all []engine.Consumer) error {
	return l.Log.WaitSettled(ctx, hearing(all))
}

func (l deaf) Unhandled(ctx context.Context, handled []engine.Consumer, after int64, relevant func(string) bool) (engine.Unhandled, error) {
	return l.Log.Unhandled(ctx, hearing(handled), after, relevant)
}

// hearing returns the consumers of the engine.
func hearing(all []engine.Consumer) (inner []engine.Consumer) {
	for _, c := range all {
		inner = append(inner, c.(deafConsumer).Consumer)
	}
	return inner
}

func (c deafConsumer) Notify(wake func(), heeds func() bool) {
	c.Consumer.Notify(func() {
		if c.late > 0 {
			time.AfterFunc(c.late, wake)
		}
	}, heeds)
}

func (c deafConsumer) Reread() bool {
	c.looks.Add(1)
	return c.Consumer.Reread()
}

// openDeaf opens a bus of its own: the others of the tests must not stall.
func openDeaf(t *testing.T, late time.Duration, opts ...runtime.Option) (bus *runtime.Bus, handled, looks *atomic.Int32) {
	t.Helper()
	handled, looks = new(atomic.Int32), new(atomic.Int32)
	opts = append(opts, withLog(func(l engine.Log) engine.Log { return deaf{l, late, looks} }))
	bus, err := runtime.Open(t.Context(), filepath.Join(t.TempDir(), "events.db"), conformance.Catalogue, opts...)
	conformance.Must(t, err)
	t.Cleanup(func() { bus.Shutdown(context.Background()) })
	_, err = runtime.Subscribe(bus, conformance.PlacedType, "billing", func(context.Context, runtime.Event[conformance.OrderPlaced]) error {
		handled.Add(1)
		return nil
	})
	conformance.Must(t, err)
	conformance.Must(t, bus.Start(t.Context()))
	return bus, handled, looks
}

func TestASubscriptionThatStallsIsLookedAtAndTheLogTheCountsAndTheHealthSaySo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lines := &conformance.LogLines{}
		bus, handled, _ := openDeaf(t, 0, runtime.WithLogger(slog.New(slog.NewJSONHandler(lines, nil))))
		time.Sleep(time.Hour) // at rest: it looks rarely
		synctest.Wait()
		_, err := runtime.Publish(t.Context(), bus, conformance.PlacedType, conformance.OrderPlaced{OrderID: "A"})
		conformance.Must(t, err)
		time.Sleep(5*time.Minute + 10*time.Second)
		if n := handled.Load(); n != 1 {
			t.Errorf("%d events are handled, want 1", n)
		}
		if n := bus.Stats().Subscriptions[0].Stalls; n != 1 {
			t.Errorf("%d stalls are counted, want 1", n)
		}
		if lines := lines.Level(t, "ERROR"); len(lines) != 1 || lines[0]["subscription_id"] != "billing" {
			t.Errorf("the log has the errors %v", lines)
		}
		if health := bus.Health(); health.Healthy || !exceeded(health, observe.CheckStalled) {
			t.Errorf("the health is %+v", health)
		}
		time.Sleep(10 * time.Minute)
		if health := bus.Health(); !health.Healthy {
			t.Errorf("ten minutes later the health is %+v", health)
		}
	})
}

func exceeded(health observe.HealthStatus, check string) bool {
	for _, one := range health.Checks {
		if one.Name == check {
			return one.Exceeded
		}
	}
	return false
}

func TestASignalThatComesLateIsNoStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus, handled, looks := openDeaf(t, 5500*time.Millisecond)
		time.Sleep(4 * time.Second) // the looks after 5 s, and after 10 s more
		_, err := runtime.Publish(t.Context(), bus, conformance.PlacedType, conformance.OrderPlaced{OrderID: "A"})
		conformance.Must(t, err)
		time.Sleep(time.Minute)
		if handled.Load() != 1 || looks.Load() == 0 {
			t.Errorf("%d events are handled, %d looks", handled.Load(), looks.Load())
		}
		if n := bus.Stats().Subscriptions[0].Stalls; n != 0 {
			t.Errorf("%d stalls are counted, want none", n)
		}
	})
}

func TestASubscriptionAtRestLooksLessAndLess(t *testing.T) {
	short.Skip(t, "it rests in real time")
	synctest.Test(t, func(t *testing.T) {
		_, _, looks := openDeaf(t, 0)
		time.Sleep(24 * time.Hour)
		if n := looks.Load(); n < 24*12-5 || n > 24*12+10 {
			t.Errorf("it has looked %d times in a day, want once in five minutes", n)
		}
	})
}
