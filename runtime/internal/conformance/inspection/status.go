package inspection

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/inspect"
)

func (env *Env) TestEachSubscriptionHasItsOwnBacklog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Subscribe("printer", Fine)
		f.Publish(1, 2, 3)
		subscriptions, err := f.File.Subscriptions(t.Context())
		Must(t, err)
		if len(subscriptions) != 1 || subscriptions[0].Backlog != 3 || time.Since(subscriptions[0].Oldest) != 3*time.Minute {
			t.Errorf("before the start: %+v, want a backlog of 3 for 3 minutes", subscriptions)
		}
		f.MustStart()
		Must(t, f.WaitIdle(t.Context()))
		subscriptions, err = f.File.Subscriptions(t.Context())
		Must(t, err)
		if subscriptions[0].Backlog != 0 || !subscriptions[0].Oldest.IsZero() {
			t.Errorf("when all is handled: %+v", subscriptions[0])
		}
	})
}

func (env *Env) TestStatusListsDeliveriesThatAreSnoozedAgainAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		every := map[int]time.Duration{1: time.Minute, 2: 20 * time.Hour, 3: 45 * time.Minute, 4: time.Minute}
		_, err := runtime.Subscribe(f.Bus, PlacedType, "printer", func(_ context.Context, e runtime.Event[Order]) error {
			if e.Payload.Number == 4 && time.Since(e.PublishedAt) > 5*time.Hour {
				return nil
			}
			return runtime.Snooze(every[e.Payload.Number])
		})
		Must(t, err)
		f.MustStart()
		began := time.Now()
		var ids []string
		for n := range 4 {
			r, err := runtime.Publish(t.Context(), f.Bus, PlacedType, Order{Number: n + 1})
			Must(t, err)
			ids = append(ids, r.ID.String())
		}
		snoozed := func() (lines []string) {
			status, err := f.File.Status(t.Context())
			Must(t, err)
			for _, one := range status.Snoozed {
				if one.Type != "order.placed" || one.Subscription != "printer" || !one.Since.Equal(began) {
					t.Errorf("listed is %+v", one)
				}
				lines = append(lines, fmt.Sprintf("%d: %d times", slices.Index(ids, one.Event.String())+1, one.Snoozes))
			}
			return lines
		}
		time.Sleep(100*time.Minute + time.Second)
		if got := strings.Join(snoozed(), ", "); got != "1: 101 times, 4: 101 times" {
			t.Errorf("after 100 minutes: %s", got)
		}
		time.Sleep(24 * time.Hour)
		if got := strings.Join(snoozed(), ", "); got != "1: 1541 times, 3: 35 times, 2: 2 times" {
			t.Errorf("after a day: %s", got)
		}
	})
}

func (env *Env) TestAClosedFileSaysSo(t *testing.T) {
	f := env.Open(t)
	Must(t, f.File.Close())
	Must(t, f.File.Close())
	if _, err := f.File.Status(t.Context()); !errors.Is(err, inspect.ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
}

func (env *Env) TestAnEndedContextIsReturnedAsTheError(t *testing.T) {
	f := env.Open(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.File.Check(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	if _, err := f.File.Status(t.Context()); err != nil {
		t.Errorf("and then: %v", err)
	}
}
