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
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/retry"
)

func (env *Env) TestANewNameStartsAtTheEndOfTheLogOrAtItsBeginning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Publish(1, 2)
		var fromEnd, fromBeginning Journal[int]
		f.Handle("from the end", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			fromEnd.Add(e.Payload.Number)
			return nil
		})
		f.Handle("from the beginning", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			fromBeginning.Add(e.Payload.Number)
			return nil
		}, runtime.FromBeginning())
		f.MustStart()
		f.Publish(3)
		f.Idle()
		if got := fromEnd.All(); !slices.Equal(got, []int{3}) {
			t.Errorf("from the end: %v, want 3", got)
		}
		if got := fromBeginning.All(); !slices.Equal(got, Numbers(1, 3)) {
			t.Errorf("from the beginning: %v, want 1 to 3", got)
		}
	})
}

func (env *Env) TestAKnownSubscriptionGetsTheEventsItMissedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var seen Journal[int]
		handler := func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			seen.Add(e.Payload.Number)
			return nil
		}
		f.Handle("reader", handler)
		f.MustStart()
		f.Publish(1, 2)
		f.Idle()
		f.Stop()

		publisher := env.Reopen(t, f.Path) // knows nothing of the subscription
		publisher.Publish(3)
		publisher.Stop()

		again := env.Reopen(t, f.Path)
		again.Handle("reader", handler)
		again.Publish(4)
		again.MustStart()
		again.Idle()
		if got := seen.All(); !slices.Equal(got, Numbers(1, 4)) {
			t.Errorf("saw %v, want 1 to 4 once each", got)
		}
	})
}

func (env *Env) TestARetryThatWaitsSurvivesARestartWithItsDueTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		opts := runtime.WithRetry(retry.BaseDelay(20 * time.Second))
		f.Handle("reader", func(context.Context, runtime.Event[OrderPlaced]) error { return ErrBoom }, opts)
		f.MustStart()
		f.Publish(1)
		synctest.Wait()
		failed := time.Now()
		f.Stop()

		time.Sleep(5 * time.Second)
		again := env.Reopen(t, f.Path)
		var ran time.Time
		again.Handle("reader", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			ran = time.Now()
			if e.Attempt != 2 {
				t.Errorf("attempt %d, want 2", e.Attempt)
			}
			return nil
		}, opts)
		again.MustStart()
		if r := again.Stats().Recovery; r.Waiting != 1 || r.Interrupted != 0 {
			t.Errorf("recovered %+v, want one that waits", r)
		}
		again.Idle()
		if got := ran.Sub(failed).Round(time.Millisecond); got != 20*time.Second {
			t.Errorf("the second execution was %v after the failure, want 20s", got)
		}
	})
}

func (env *Env) TestUnsubscribingKeepsTheNameAndItsEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var seen Journal[int]
		handler := func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			seen.Add(e.Payload.Number)
			return nil
		}
		s := f.Handle("reader", handler)
		f.MustStart()
		f.Publish(1)
		f.Idle()
		Must(t, s.Unsubscribe(t.Context()))
		Must(t, s.Unsubscribe(t.Context()))
		f.Publish(2)
		synctest.Wait()
		if got := seen.All(); !slices.Equal(got, []int{1}) {
			t.Errorf("saw %v after unsubscribing, want 1", got)
		}
		f.Handle("reader", handler)
		f.Idle()
		if got := seen.All(); !slices.Equal(got, Numbers(1, 2)) {
			t.Errorf("saw %v after subscribing again, want 1 and 2", got)
		}
	})
}

func (env *Env) TestShutdownWaitsForRunningHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		finished := false
		f.Handle("slow", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			if e.Payload.Number == 2 {
				t.Error("a second handler began during the shutdown")
			}
			time.Sleep(10 * time.Second)
			finished = ctx.Err() == nil
			return nil
		})
		f.MustStart()
		f.Publish(1, 2)
		synctest.Wait()
		f.Stop()
		if !finished {
			t.Error("the handler was interrupted")
		}
		if n := strings.Join(f.peek().statuses(), ","); n != "done,pending" {
			t.Errorf("the events are %s, want done,pending", n)
		}
		Must(t, f.Shutdown(t.Context()))
	})
}

func (env *Env) TestShutdownWaitsForThirtySecondsByDefault(t *testing.T) {
	background := func() (context.Context, context.CancelFunc) { return context.WithCancel(context.Background()) }
	for name, test := range map[string]struct {
		opts []runtime.Option
		ctx  func() (context.Context, context.CancelFunc)
		want time.Duration
	}{
		"by itself":     {nil, background, 30 * time.Second},
		"by its option": {[]runtime.Option{runtime.WithShutdownTimeout(5 * time.Second)}, background, 5 * time.Second},
		"a deadline comes first": {nil, func() (context.Context, context.CancelFunc) {
			return context.WithTimeout(context.Background(), time.Minute)
		}, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := env.Open(t, test.opts...)
				f.Handle("patient", func(ctx context.Context, _ runtime.Event[OrderPlaced]) error {
					<-ctx.Done()
					return ctx.Err()
				}, runtime.WithTimeout(time.Hour))
				f.MustStart()
				f.Publish(1)
				synctest.Wait()
				ctx, cancel := test.ctx()
				defer cancel()
				began := time.Now()
				if err := f.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("the shutdown returned %v", err)
				}
				if took := since(began); took != test.want {
					t.Errorf("the handler was interrupted after %v, want %v", took, test.want)
				}
			})
		})
	}
}

func (env *Env) TestShutdownInterruptsHandlersAtItsDeadlineAndCountsThoseThatIgnoreIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var causes Journal[error]
		release := make(chan struct{})
		f.Handle("obedient", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			<-ctx.Done()
			causes.Add(context.Cause(ctx))
			return ctx.Err()
		})
		f.Handle("deaf", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			<-release
			return ErrBoom
		})
		f.MustStart()
		f.Publish(1)
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		began := time.Now()
		if err := f.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "obedient") {
			t.Errorf("the shutdown returned %v", err)
		}
		if took := since(began); took != 4*time.Second {
			t.Errorf("the shutdown took %v, want the deadline and a second of grace", took)
		}
		if got := causes.All(); len(got) != 1 || !errors.Is(got[0], runtime.ErrShutdown) {
			t.Errorf("the causes are %v, want ErrShutdown", got)
		}
		close(release)
		synctest.Wait()

		again := env.Reopen(t, f.Path)
		var attempts Journal[int]
		handler := func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			attempts.Add(e.Attempt)
			return nil
		}
		again.Handle("obedient", handler)
		again.Handle("deaf", handler)
		again.MustStart()
		again.Idle()
		if got := attempts.All(); !slices.Equal(got, []int{2, 2}) {
			t.Errorf("after the restart the attempts are %v, want 2 and 2", got)
		}
		var failed []string
		for _, d := range again.peek().deliveries() {
			for _, a := range d.Attempts {
				failed = append(failed, fmt.Sprintf("%s %s: %s", d.Subscription, a.Kind, a.Error))
			}
		}
		if want := []string{"deaf interrupted: the handler did not return within 1s after a shutdown had cancelled its context"}; !slices.Equal(failed, want) {
			t.Errorf("the failed attempts are %q, want that of the deaf handler", failed)
		}
	})
}

func (env *Env) TestAfterShutdownEverythingReturnsErrShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		receipt := f.Publish(1)[0]
		subscription := f.Handle("reader", func(context.Context, runtime.Event[OrderPlaced]) error { return nil })
		gone := f.Handle("gone", func(context.Context, runtime.Event[OrderPlaced]) error { return nil })
		Must(t, gone.Unsubscribe(t.Context()))
		f.Stop()
		_, subscribed := runtime.Subscribe(f.Bus, PlacedType, "late", func(context.Context, runtime.Event[OrderPlaced]) error { return nil })
		_, waited := receipt.Wait(t.Context())
		_, published := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{})
		_, batch := runtime.PublishBatch(t.Context(), f.Bus, PlacedType, []OrderPlaced{{}})
		_, empty := runtime.PublishBatch(t.Context(), f.Bus, PlacedType, nil)
		_, lagged := f.Lag(t.Context())
		_, compacted := f.Compact(t.Context())
		_, paused := f.Pauses(t.Context())
		for what, err := range map[string]error{
			"Start": f.Start(t.Context()), "Subscribe": subscribed, "Wait": waited, "WaitIdle": f.WaitIdle(t.Context()),
			"Publish": published, "PublishBatch": batch, "PublishBatch of nothing": empty, "Tune": f.Tune(runtime.Tuning{}),
			"Unsubscribe": subscription.Unsubscribe(t.Context()), "Unsubscribe again": gone.Unsubscribe(t.Context()),
			"Lag": lagged, "Compact": compacted, "Pauses": paused, "PauseSubscription": f.PauseSubscription(t.Context(), "reader", ""),
			"ResumeSubscription": f.ResumeSubscription(t.Context(), "reader"), "PauseTypes": f.PauseTypes(t.Context(), "*", ""),
			"ResumeTypes": f.ResumeTypes(t.Context(), "*"),
		} {
			if !errors.Is(err, runtime.ErrShutdown) {
				t.Errorf("%s returned %v, want ErrShutdown", what, err)
			}
		}
	})
}

func (env *Env) TestOneBusAtATimeDispatchesFromAFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := env.Open(t)
		first.MustStart()
		if err := first.Start(t.Context()); !errors.Is(err, runtime.ErrStarted) {
			t.Errorf("a second Start returned %v, want ErrStarted", err)
		}
		second := env.Reopen(t, first.Path)
		second.Publish(1) // publishing works beside it
		err := second.Start(t.Context())
		var owned *event.OwnedError
		if !errors.Is(err, event.ErrAlreadyRunning) || !errors.As(err, &owned) || owned.PID == 0 || owned.Since.IsZero() {
			t.Errorf("the second bus got %v", err)
		}
		first.Stop()
		Must(t, second.Start(t.Context()))
	})
}

func (env *Env) TestAStandbyTakesOverWhenTheOwnerEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := env.Open(t)
		first.MustStart()
		second := env.Reopen(t, first.Path, runtime.WithStandby())
		var seen Journal[int]
		second.Handle("reader", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			seen.Add(e.Payload.Number)
			return nil
		})
		started := make(chan error)
		go func() { started <- second.Start(t.Context()) }()
		time.Sleep(time.Hour)
		first.Publish(1)
		synctest.Wait()
		if got := seen.All(); len(got) != 0 {
			t.Errorf("the standby handled %v beside the owner", got)
		}
		if err := second.Start(t.Context()); !errors.Is(err, runtime.ErrStarted) {
			t.Errorf("starting a second time returned %v", err)
		}
		first.Stop()
		stopped := time.Now()
		Must(t, <-started)
		if took := time.Since(stopped); took > 50*time.Millisecond {
			t.Errorf("the standby needed %v", took)
		}
		second.Idle()
		if got := seen.All(); !slices.Equal(got, []int{1}) {
			t.Errorf("the standby handled %v, want 1", got)
		}
	})
}

func (env *Env) TestAStandbyCanBeGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := env.Open(t)
		first.MustStart()
		second := env.Reopen(t, first.Path, runtime.WithStandby())
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := second.Start(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Start returned %v at its deadline", err)
		}
		started := make(chan error)
		go func() { started <- second.Start(t.Context()) }()
		synctest.Wait()
		second.Stop()
		if err := <-started; !errors.Is(err, runtime.ErrShutdown) {
			t.Errorf("Start returned %v at the shutdown", err)
		}
	})
}

func (env *Env) TestARunningBusSeesTheEventsAndRetriesOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		healthy := false
		var seen Journal[int]
		f.Handle("reader", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			if e.Payload.Number == 1 && !healthy {
				return ErrBoom
			}
			seen.Add(e.Payload.Number)
			return nil
		}, runtime.WithRetry(retry.MaxAttempts(1)))
		f.MustStart()
		f.Publish(1)
		f.Idle()
		healthy = true

		other := env.Reopen(t, f.Path)
		soon, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		outcome, err := other.Publish(2)[0].Wait(soon)
		Must(t, err)
		if err := outcome.Err(); err != nil || len(outcome.Deliveries) != 1 {
			t.Errorf("the outcome seen by the other bus is %+v", outcome)
		}
		inspector, err := env.OpenFile(t.Context(), f.Path)
		Must(t, err)
		defer inspector.Close()
		letters, _, err := inspector.DeadLetters(t.Context(), event.Filter{}, event.Page{})
		Must(t, err)
		began := time.Now()
		_, err = inspector.Retry(t.Context(), inspect.Only(letters[0].Key))
		Must(t, err)
		for len(seen.All()) < 2 && since(began) < time.Minute {
			time.Sleep(10 * time.Millisecond)
		}
		if took := since(began); took > time.Second {
			t.Errorf("the retried dead letter took %v to arrive", took)
		}
		f.Publish(3)
		f.Idle()
		if got := seen.All(); !slices.Equal(got, []int{2, 1, 3}) {
			t.Errorf("saw %v, want 2, 1, 3", got)
		}
	})
}
