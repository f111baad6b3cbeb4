package dispatch_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/internal/dispatch"
	"github.com/busgen/busgen/runtime/internal/dispatch/queue"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/limit"
	"github.com/busgen/busgen/runtime/retry"
)

// eager hands a retry out at once: it is polled again before Settle has returned.
type eager struct{ *source }

func (e eager) Settle(one engine.Settled, others []engine.Settled) {
	e.source.Settle(one, others)
	if one.Kind == engine.Retry {
		e.change(func() { e.events = append(e.events, one.Seq) })
		synctest.Wait()
	}
}

// The retry waits for the other limit, which its first attempt is about to free.
func TestARetryThatComesAtOnceStillHoldsTheLimitOfItsEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logger := slog.New(slog.DiscardHandler)
		set := limit.New(limit.Config{Wall: time.Now, Logger: logger},
			limit.Rules{Name: "account", AtOnce: 1, Event: true}, limit.Rules{Name: "mail", AtOnce: 1})
		account := limit.Use{Limit: set.Limit("account")}
		settings := &dispatch.Settings{Retry: retry.Default(), Timeout: time.Hour, Limits: []queue.LimitUse{
			{Limit: account.Limit}, {Limit: set.Limit("mail")},
		}}
		var attempts, others atomic.Int32
		handlers := []*dispatch.Handler{{
			Name: "billing", Count: silent{}, Settings: func(string) *dispatch.Settings { return settings },
			Handle: func(*dispatch.Attempt) error {
				time.Sleep(time.Minute)
				if attempts.Add(1) == 1 {
					return errors.New("broken")
				}
				if others.Load() > 0 {
					t.Error("another one has got the limit that the event holds")
				}
				return nil
			},
		}}
		sub := dispatch.New(eager{&source{events: []int64{1}}}, dispatch.Config{
			Name: "billing", Concurrency: 2, Logger: logger, Limits: set,
			Handlers:       func(string) []*dispatch.Handler { return handlers },
			Settings:       func(string) *dispatch.Settings { return settings },
			Breaker:        breaker.New(breaker.Policy{Off: true}),
			Notice:         func(*engine.Delivery, engine.Disposition) []engine.Record { return nil },
			BreakerChanged: func(string, breaker.Status, breaker.Status) {},
			Alone:          &dispatch.Alone{Logger: logger},
			Waits:          &dispatch.Waits{},
		})
		sub.Start()
		time.Sleep(time.Second)
		go func() {
			call, err := set.Acquire(context.Background(), account, set.NewGrant())
			if err != nil {
				t.Error(err)
				return
			}
			others.Add(1)
			call.End()
		}()
		time.Sleep(time.Hour)
		if attempts.Load() != 2 || others.Load() != 1 {
			t.Errorf("%d attempts, and %d others", attempts.Load(), others.Load())
		}
		sub.Stop(context.Background(), time.Second)
	})
}
