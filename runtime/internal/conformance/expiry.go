package conformance

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
	"github.com/busgen/busgen/runtime/breaker"
)

// A delivery ends when it was snoozed too often, or when its event has expired.

func (env *Env) TestAHandlerThatSnoozesForEverEndsInTheDeadLetters(t *testing.T) {
	for name, test := range map[string]struct {
		opts  []runtime.SubscribeOption
		every time.Duration
		want  int // executions
	}{
		"as built in":              {nil, time.Second, 10_001},
		"as the subscription says": {[]runtime.SubscribeOption{runtime.WithMaxSnoozes(3)}, time.Hour, 4},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := env.Open(t, runtime.WithDurability(runtime.Normal))
				ran := 0
				f.Handle("waiter", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
					if ran++; ran > 2*test.want {
						return nil // there is no end to it
					}
					return runtime.Snooze(test.every)
				}, test.opts...)
				f.MustStart()
				f.Publish(1)
				f.Idle()
				if ran != test.want {
					t.Errorf("%d executions, want %d", ran, test.want)
				}
				l := env.Letter(t, f.Path)
				if l.Reason != "max_snoozes" || len(l.Attempts) != 1 || !strings.Contains(l.Attempts[0].Error, fmt.Sprintf("snoozed %d times", test.want-1)) {
					t.Errorf("the dead letter is %+v", l)
				}
				env.Redrive(t, f.Path, l.Key) // the count begins anew
				time.Sleep(time.Minute)
				f.Idle()
				if ran != 2*test.want {
					t.Errorf("%d executions after it was redriven, want %d", ran, 2*test.want)
				}
			})
		})
	}
}

func (env *Env) TestTheCountOfSnoozesSurvivesRestartsAndFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		ran := 0
		handler := func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			if ran++; ran == 3 {
				return ErrBoom
			} else if ran > 20 {
				return nil
			}
			return runtime.Snooze(time.Minute)
		}
		f.Handle("waiter", handler, runtime.WithMaxSnoozes(4))
		f.MustStart()
		f.Publish(1)
		for range 3 {
			time.Sleep(90 * time.Second)
			f.Stop()
			f = env.Reopen(t, f.Path)
			f.Handle("waiter", handler, runtime.WithMaxSnoozes(4))
			f.MustStart()
		}
		f.Idle()
		if l := env.Letter(t, f.Path); ran != 6 || l.Reason != "max_snoozes" || len(l.Attempts) != 2 {
			t.Errorf("%d executions, and the dead letter is %+v; want four snoozes, a failure, and the end", ran, l)
		}
	})
}

func (env *Env) TestASnoozeBeyondTheExpiryMakesADeadLetter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		began := time.Now()
		f.Handle("waiter", func(context.Context, runtime.Event[OrderPlaced]) error {
			return runtime.Snooze(10 * time.Minute)
		}, runtime.WithExpiresAfter(25*time.Minute))
		f.MustStart()
		f.Publish(1)
		f.Idle()
		l := env.Letter(t, f.Path)
		if l.Reason != "expired" || time.Since(began).Round(time.Second) != 20*time.Minute || !strings.Contains(l.Attempts[0].Error, "expires 25m0s after") {
			t.Errorf("dead after %v: %+v", time.Since(began), l)
		}
	})
}

func (env *Env) TestTheContextOfAHandlerEndsWithItsEvent(t *testing.T) {
	for name, test := range map[string]struct {
		do   func(ctx context.Context) error
		opts []runtime.SubscribeOption
	}{
		"it obeys":                {do: func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }},
		"it says so in its words": {do: func(ctx context.Context) error { <-ctx.Done(); return ErrBoom }},
		"it thinks it is done":    {do: func(ctx context.Context) error { <-ctx.Done(); return nil }},
		"it does not look":        {do: func(context.Context) error { time.Sleep(time.Hour); return nil }},
		"its timeout is as long": {
			do:   func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) },
			opts: []runtime.SubscribeOption{runtime.WithTimeout(9500 * time.Millisecond)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := env.OpenFragile(t)
				var causes Journal[error]
				opts := append([]runtime.SubscribeOption{
					runtime.WithExpiresAfter(10 * time.Second), runtime.WithTimeout(time.Minute), runtime.WithBreaker(breaker.MinSamples(1), breaker.Threshold(0)),
				}, test.opts...)
				s, err := runtime.Subscribe(f.Bus, FragileType, "late", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
					if deadline, ok := ctx.Deadline(); !ok || !deadline.Equal(e.PublishedAt.Add(10*time.Second)) {
						t.Errorf("the deadline is %v after the publication", deadline.Sub(e.PublishedAt))
					}
					context.AfterFunc(ctx, func() { causes.Add(context.Cause(ctx)) })
					return test.do(ctx)
				}, opts...)
				Must(t, err)
				f.Fragile(1, 1)
				time.Sleep(time.Second)
				f.MustStart()
				time.Sleep(10 * time.Second)
				l := env.Letter(t, f.Path)
				var expired *runtime.ExpiredError
				if l.Reason != "expired" || len(l.Attempts) != 1 || l.Attempts[0].Kind != "timeout" || l.Attempts[0].ErrorType != "*errs.ExpiredError" {
					t.Errorf("the dead letter is %+v", l)
				} else if took := l.Attempts[0].Ended.Sub(l.PublishedAt); took != 10*time.Second {
					t.Errorf("it ended after %v", took)
				}
				got := causes.All()
				if len(got) != 1 || !errors.As(got[0], &expired) || expired.After != 10*time.Second || !errors.Is(got[0], context.DeadlineExceeded) {
					t.Errorf("the causes are %v", got)
				}
				for _, one := range f.Stats().Subscriptions {
					if one.Name == s.Name() && one.Breaker.State != "closed" {
						t.Errorf("the breaker is %s: it says nothing about a handler that its event had too little time", one.Breaker.State)
					}
				}
				time.Sleep(2 * time.Hour) // until it is back
			})
		})
	}
}

func (env *Env) TestAGroupStopsWhenItsEventExpires(t *testing.T) {
	for name, test := range map[string]struct {
		first time.Duration // how long the first member takes
		want  string        // who ran
		count int           // attempts on record
	}{
		"within the first":  {12 * time.Second, "first", 1},
		"within the second": {9 * time.Second, "first second", 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := env.Open(t)
				var ran Journal[string]
				member := func(name string, takes time.Duration) {
					_, err := runtime.Subscribe(f.Bus, PlacedType, name, func(ctx context.Context, _ runtime.Event[OrderPlaced]) error {
						ran.Add(name)
						select {
						case <-time.After(takes):
							return nil
						case <-ctx.Done():
							return ctx.Err()
						}
					}, runtime.InGroup("both"), runtime.WithTimeout(time.Minute), runtime.WithExpiresAfter(10*time.Second))
					Must(t, err)
				}
				member("first", test.first)
				member("second", time.Minute)
				f.MustStart()
				f.Publish(1)
				f.Idle()
				if got := strings.Join(ran.All(), " "); got != test.want {
					t.Errorf("%s ran, want %s", got, test.want)
				}
				l := env.Letter(t, f.Path)
				if l.Reason != "expired" || len(l.Attempts) != test.count {
					t.Errorf("the dead letter is %+v", l)
				}
				before := len(ran.All())
				env.Redrive(t, f.Path, l.Key) // goes on with what is left
				time.Sleep(time.Second)
				if got := ran.All()[before:]; test.first < 12*time.Second && !slices.Equal(got, []string{"second"}) {
					t.Errorf("after a redrive ran %v, want the second", got)
				}
			})
		})
	}
}
