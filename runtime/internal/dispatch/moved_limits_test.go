package dispatch_test

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/internal/dispatch"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/limit"
	"github.com/busgen/busgen/runtime/retry"
)

// limited begins to handle what a consumer has, three at a time. All need the one place of a limit, and each is
// at work for a minute. It returns the events that have begun so far.
func limited(t *testing.T, c engine.Consumer, handle func(a *dispatch.Attempt) error) (begun func() []int64, set *limit.Set) {
	logger := slog.New(slog.DiscardHandler)
	set = limit.New(limit.Config{Wall: time.Now, Logger: logger}, declare.Limit{Name: "mail", AtOnce: 1})
	settings := &dispatch.Settings{
		Timeout: time.Hour, Limits: []declare.LimitUse{{Limit: "mail"}},
		Retry: retry.Policy{MaxAttempts: 2, BaseDelay: time.Hour, MaxDelay: time.Hour, Multiplier: 1},
	}
	var mu sync.Mutex
	var all []int64
	handlers := []*dispatch.Handler{{
		Name: "billing", Count: silent{}, Settings: func(string) *dispatch.Settings { return settings },
		Handle: func(a *dispatch.Attempt) error {
			mu.Lock()
			all = append(all, a.Seq)
			mu.Unlock()
			time.Sleep(time.Minute)
			return handle(a)
		},
	}}
	sub := dispatch.New(c, dispatch.Config{
		Name: "billing", Concurrency: 3, Logger: logger, Limits: set,
		Handlers:       func(string) []*dispatch.Handler { return handlers },
		Settings:       func(string) *dispatch.Settings { return settings },
		Breaker:        breaker.New(breaker.Policy{Off: true}),
		Notice:         func(*engine.Delivery, engine.Disposition) []engine.Record { return nil },
		BreakerChanged: func(string, breaker.Status, breaker.Status) {},
		Alone:          &dispatch.Alone{Logger: logger},
		Waits:          &dispatch.Waits{},
	})
	sub.Start()
	t.Cleanup(func() { sub.Stop(context.Background(), time.Second) })
	return func() []int64 {
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}, set
}

// When deliveries move, those that wait for a limit are given back, and leave the line.
func TestDeliveriesThatWaitForALimitAreGivenBackWhenTheyMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{events: []int64{1, 2, 3}}
		begun, set := limited(t, s, func(*dispatch.Attempt) error { return nil })
		time.Sleep(time.Second)
		s.change(func() { s.moved, s.events = true, []int64{3, 4} }) // 2 is another process's
		if got := begun(); !slices.Equal(got, []int64{1}) {
			t.Errorf("%v have begun beside 1", got)
		}
		s.change(func() {
			if slices.Sort(s.released); !slices.Equal(s.released, []int64{2, 3}) {
				t.Errorf("given back: %v, want 2 and 3", s.released)
			}
		})
		time.Sleep(5 * time.Minute)
		if got := begun(); !slices.Equal(got, []int64{1, 3, 4}) {
			t.Errorf("%v have begun, want 1, 3 and 4", got)
		}
		free, end := context.WithTimeout(t.Context(), time.Second)
		defer end()
		if _, err := set.Acquire(free, limit.Use{Limit: set.Limit("mail")}, set.NewGrant()); err != nil {
			t.Errorf("the limit is not free: %v", err)
		}
	})
}
