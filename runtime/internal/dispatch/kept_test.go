package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
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

// putOff is a source whose deliveries come again after an hour.
type putOff struct {
	source
	mu   sync.Mutex
	due  map[int64]time.Time
	took int // how many polls out of turn there were
}

func (s *putOff) Settle(one engine.Settled, _ []engine.Settled) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one.Kind == engine.Retry {
		s.due[one.Seq] = one.Due
	}
}

func (s *putOff) PollEvent(seq int64) (d *engine.Delivery, again time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.took++
	due, ok := s.due[seq]
	switch {
	case !ok:
		return nil, time.Time{}, nil
	case due.After(time.Now()):
		return nil, due, nil
	}
	delete(s.due, seq)
	d = s.delivery(seq)
	d.Failures = 1
	return d, time.Time{}, nil
}

// Other events wake the subscription again and again meanwhile.
func TestEventsThatHoldLimitsArePolledWhenTheyAreDueOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &putOff{due: map[int64]time.Time{}}
		const many = 50
		for seq := range int64(many) {
			s.events = append(s.events, seq+1)
		}
		set := limit.New(limit.Config{Wall: time.Now}, limit.Rules{Name: "customer", AtOnce: 1, Event: true})
		settings := &dispatch.Settings{
			Retry:  retry.Policy{MaxAttempts: 2, BaseDelay: time.Hour, MaxDelay: time.Hour, Multiplier: 1},
			Limits: []queue.LimitUse{{Limit: set.Limit("customer"), By: "id"}},
		}
		handlers := []*dispatch.Handler{{
			Name: "billing", Count: silent{}, Settings: func(string) *dispatch.Settings { return settings },
			Handle: func(a *dispatch.Attempt) error {
				if a.Number == 1 && a.Seq <= many {
					return errors.New("broken")
				}
				return nil
			},
		}}
		logger := slog.New(slog.DiscardHandler)
		sub := dispatch.New(s, dispatch.Config{
			Name: "billing", Concurrency: 4, Keyless: "none", Logger: logger,
			Handlers:       func(string) []*dispatch.Handler { return handlers },
			Settings:       func(string) *dispatch.Settings { return settings },
			Key:            func(d *engine.Delivery) (string, error) { return fmt.Sprint(d.Seq), nil },
			Limits:         set,
			LimitKey:       func(d *engine.Delivery, _ string) (string, error) { return fmt.Sprint(d.Seq), nil },
			Breaker:        breaker.New(breaker.Policy{Off: true}),
			Notice:         func(*engine.Delivery, engine.Disposition) []engine.Record { return nil },
			BreakerChanged: func(string, breaker.Status, breaker.Status) {},
			Alone:          &dispatch.Alone{Logger: logger},
			Waits:          &dispatch.Waits{},
		})
		sub.Start()
		t.Cleanup(func() { sub.Stop(context.Background(), time.Second) })
		for n := range 100 {
			time.Sleep(time.Second)
			s.change(func() { s.events = append(s.events, int64(many+n+1)) })
		}
		synctest.Wait()
		s.mu.Lock()
		took, waiting := s.took, len(s.due)
		s.mu.Unlock()
		if waiting != many || took > 2*many {
			t.Errorf("%d events wait, and there were %d polls out of turn; want %d, and as many", waiting, took, many)
		}
		time.Sleep(2 * time.Hour)
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.due) > 0 {
			t.Errorf("%d events still wait", len(s.due))
		}
	})
}
