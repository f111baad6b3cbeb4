package dispatch_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/internal/dispatch"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/retry"
)

// What it costs to take a delivery to a handler that does nothing, and to settle it.
func BenchmarkADelivery(b *testing.B) {
	settings := &dispatch.Settings{Retry: retry.Default(), Timeout: 30 * time.Second, SlowAfter: 10 * time.Second}
	handled, done := 0, make(chan struct{})
	closed := breaker.New(breaker.Default())
	handlers := []*dispatch.Handler{{
		Name: "bench", Breaker: closed, Count: uncounted{}, Settings: func(string) *dispatch.Settings { return settings },
		Handle: func(*dispatch.Attempt) error {
			if handled++; handled == b.N {
				close(done)
			}
			return nil
		},
	}}
	logger := slog.New(slog.DiscardHandler)
	s := dispatch.New(&endless{left: b.N}, dispatch.Config{
		Name: "bench", Concurrency: 1, Handlers: func(string) []*dispatch.Handler { return handlers },
		Settings: func(string) *dispatch.Settings { return settings }, Breaker: closed, BreakerChanged: func(string, breaker.Status, breaker.Status) {},
		Key: func(*engine.Delivery) (string, error) { return "", nil }, LateKeys: true,
		Alone: &dispatch.Alone{Logger: logger}, Waits: &dispatch.Waits{}, Interrupts: new(atomic.Bool), Logger: logger, Reuse: true,
	})
	b.ReportAllocs()
	b.ResetTimer()
	s.Start()
	<-done
	b.StopTimer()
	if err := s.Stop(context.Background(), time.Second); err != nil {
		b.Error(err)
	}
}

// endless has so many deliveries of one event type. They are used again: nobody keeps one.
type endless struct {
	engine.Consumer
	left, at int
	all      [1024]engine.Delivery
}

func (c *endless) Notify(wake func(), _ func() bool) { wake() }

func (c *endless) Poll(dst []*engine.Delivery, limit int) (_ []*engine.Delivery, more bool, err error) {
	for ; limit > 0 && c.left > 0; limit-- {
		d := &c.all[c.at%len(c.all)]
		if c.at++; d.Record == nil {
			d.Record = &engine.Record{Seq: int64(c.at), Type: "order.placed", CreatedAt: time.Now()}
		}
		dst = append(dst, d)
		c.left--
	}
	return dst, c.left > 0, nil
}

func (c *endless) Reread() bool                   { return false }
func (c *endless) Parked() bool                   { return false }
func (c *endless) Express() (critical, high bool) { return false, false }

func (c *endless) Cancelled(int64) (string, bool) { return "", false }
func (c *endless) Begin(all []*engine.Delivery, _ []int, started time.Time) (n int, begun time.Time, cancelled bool) {
	return len(all), started, false
}
func (c *endless) End([]*engine.Delivery)                  {}
func (c *endless) Settle(engine.Settled, []engine.Settled) {}

// uncounted is a counter that does nothing.
type uncounted struct{ dispatch.Counter }

func (uncounted) Succeeded(*dispatch.Attempt, time.Time)     {}
func (uncounted) Handled(*dispatch.Attempt, []engine.Record) {}
