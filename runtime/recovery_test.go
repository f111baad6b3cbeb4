package runtime_test

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
	"github.com/busgen/busgen/runtime/dlq"
	"github.com/busgen/busgen/runtime/retry"
)

func TestANewNameStartsAtTheEndOfTheLogOrAtItsBeginning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		f.publish(1, 2)
		var fromEnd, fromBeginning journal[int]
		f.handle("from the end", func(_ context.Context, e runtime.Event[orderPlaced]) error {
			fromEnd.add(e.Payload.Number)
			return nil
		})
		f.handle("from the beginning", func(_ context.Context, e runtime.Event[orderPlaced]) error {
			fromBeginning.add(e.Payload.Number)
			return nil
		}, runtime.FromBeginning())
		f.start()
		f.publish(3)
		f.idle()
		if got := fromEnd.all(); !slices.Equal(got, []int{3}) {
			t.Errorf("from the end: %v, want 3", got)
		}
		if got := fromBeginning.all(); !slices.Equal(got, numbers(1, 3)) {
			t.Errorf("from the beginning: %v, want 1 to 3", got)
		}
	})
}

func TestAKnownNameGetsWhatItMissedAndNothingTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		var seen journal[int]
		handler := func(_ context.Context, e runtime.Event[orderPlaced]) error {
			seen.add(e.Payload.Number)
			return nil
		}
		f.handle("reader", handler)
		f.start()
		f.publish(1, 2)
		f.idle()
		f.stop()

		publisher := reopen(t, f.path) // knows nothing of the subscription
		publisher.publish(3)
		publisher.stop()

		again := reopen(t, f.path)
		again.handle("reader", handler)
		again.publish(4)
		again.start()
		again.idle()
		if got := seen.all(); !slices.Equal(got, numbers(1, 4)) {
			t.Errorf("saw %v, want 1 to 4 once each", got)
		}
	})
}

func TestARetryThatWaitsSurvivesARestartWithItsDueTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		opts := runtime.WithRetry(retry.BaseDelay(20 * time.Second))
		f.handle("reader", func(context.Context, runtime.Event[orderPlaced]) error { return errBoom }, opts)
		f.start()
		f.publish(1)
		synctest.Wait()
		failed := time.Now()
		f.stop()

		time.Sleep(5 * time.Second)
		again := reopen(t, f.path)
		var ran time.Time
		again.handle("reader", func(_ context.Context, e runtime.Event[orderPlaced]) error {
			ran = time.Now()
			if e.Attempt != 2 {
				t.Errorf("attempt %d, want 2", e.Attempt)
			}
			return nil
		}, opts)
		again.start()
		if r := again.Stats().Recovery; r.Waiting != 1 || r.Interrupted != 0 {
			t.Errorf("recovered %+v, want one that waits", r)
		}
		again.idle()
		if got := ran.Sub(failed).Round(time.Millisecond); got != 20*time.Second {
			t.Errorf("the second execution was %v after the failure, want 20s", got)
		}
	})
}

func TestUnsubscribingKeepsTheNameAndItsEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		var seen journal[int]
		handler := func(_ context.Context, e runtime.Event[orderPlaced]) error {
			seen.add(e.Payload.Number)
			return nil
		}
		s := f.handle("reader", handler)
		f.start()
		f.publish(1)
		f.idle()
		must(t, s.Unsubscribe(t.Context()))
		must(t, s.Unsubscribe(t.Context()))
		f.publish(2)
		synctest.Wait()
		if got := seen.all(); !slices.Equal(got, []int{1}) {
			t.Errorf("saw %v after unsubscribing, want 1", got)
		}
		f.handle("reader", handler)
		f.idle()
		if got := seen.all(); !slices.Equal(got, numbers(1, 2)) {
			t.Errorf("saw %v after subscribing again, want 1 and 2", got)
		}
	})
}

func TestShutdownWaitsForRunningHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		finished := false
		f.handle("slow", func(ctx context.Context, e runtime.Event[orderPlaced]) error {
			if e.Payload.Number == 2 {
				t.Error("a second handler began during the shutdown")
			}
			time.Sleep(10 * time.Second)
			finished = ctx.Err() == nil
			return nil
		})
		f.start()
		f.publish(1, 2)
		synctest.Wait()
		f.stop()
		if !finished {
			t.Error("the handler was interrupted")
		}
		if n := strings.Join(f.peek().statuses(), ","); n != "done,pending" {
			t.Errorf("the events are %s, want done,pending", n)
		}
		must(t, f.Shutdown(t.Context()))
	})
}

func TestShutdownWaitsForThirtySecondsUnlessItIsToldOtherwise(t *testing.T) {
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
				f := open(t, test.opts...)
				f.handle("patient", func(ctx context.Context, _ runtime.Event[orderPlaced]) error {
					<-ctx.Done()
					return ctx.Err()
				}, runtime.WithTimeout(time.Hour))
				f.start()
				f.publish(1)
				synctest.Wait()
				ctx, cancel := test.ctx()
				defer cancel()
				began := time.Now()
				if err := f.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("the shutdown returned %v", err)
				}
				if took := time.Since(began); took != test.want {
					t.Errorf("the handler was interrupted after %v, want %v", took, test.want)
				}
			})
		})
	}
}

func TestShutdownInterruptsAtItsDeadlineAndCountsWhoIgnoresIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		var causes journal[error]
		release := make(chan struct{})
		f.handle("obedient", func(ctx context.Context, e runtime.Event[orderPlaced]) error {
			<-ctx.Done()
			causes.add(context.Cause(ctx))
			return ctx.Err()
		})
		f.handle("deaf", func(ctx context.Context, e runtime.Event[orderPlaced]) error {
			<-release
			return errBoom
		})
		f.start()
		f.publish(1)
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		began := time.Now()
		if err := f.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "obedient") {
			t.Errorf("the shutdown returned %v", err)
		}
		if took := time.Since(began); took != 4*time.Second {
			t.Errorf("the shutdown took %v, want the deadline and a second of grace", took)
		}
		if got := causes.all(); len(got) != 1 || !errors.Is(got[0], runtime.ErrShutdown) {
			t.Errorf("the causes are %v, want ErrShutdown", got)
		}
		close(release)
		synctest.Wait()

		again := reopen(t, f.path)
		var attempts journal[int]
		handler := func(_ context.Context, e runtime.Event[orderPlaced]) error {
			attempts.add(e.Attempt)
			return nil
		}
		again.handle("obedient", handler)
		again.handle("deaf", handler)
		again.start()
		again.idle()
		if got := attempts.all(); !slices.Equal(got, []int{2, 2}) {
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

func TestAfterShutdownEverythingReturnsErrShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		receipt := f.publish(1)[0]
		subscription := f.handle("reader", func(context.Context, runtime.Event[orderPlaced]) error { return nil })
		gone := f.handle("gone", func(context.Context, runtime.Event[orderPlaced]) error { return nil })
		must(t, gone.Unsubscribe(t.Context()))
		f.stop()
		_, subscribed := runtime.Subscribe(f.Bus, placedType, "late", func(context.Context, runtime.Event[orderPlaced]) error { return nil })
		_, waited := receipt.Wait(t.Context())
		_, published := runtime.Publish(t.Context(), f.Bus, placedType, orderPlaced{})
		_, batch := runtime.PublishBatch(t.Context(), f.Bus, placedType, []orderPlaced{{}})
		_, empty := runtime.PublishBatch(t.Context(), f.Bus, placedType, nil)
		_, lagged := f.Lag(t.Context())
		_, compacted := f.Compact(t.Context())
		_, paused := f.Pauses(t.Context())
		for what, err := range map[string]error{
			"Start": f.Start(t.Context()), "Subscribe": subscribed, "Wait": waited, "WaitIdle": f.WaitIdle(t.Context()),
			"Publish": published, "PublishBatch": batch, "PublishBatch of nothing": empty, "Tune": f.Tune(runtime.Tuning{}),
			"Unsubscribe": subscription.Unsubscribe(t.Context()), "Unsubscribe again": gone.Unsubscribe(t.Context()),
			"Lag": lagged, "Compact": compacted, "Pauses": paused, "PauseSubscription": f.PauseSubscription(t.Context(), "reader"),
			"ResumeSubscription": f.ResumeSubscription(t.Context(), "reader"), "PauseTypes": f.PauseTypes(t.Context(), "*"),
			"ResumeTypes": f.ResumeTypes(t.Context(), "*"),
		} {
			if !errors.Is(err, runtime.ErrShutdown) {
				t.Errorf("%s returned %v, want ErrShutdown", what, err)
			}
		}
	})
}

func TestOneBusAtATimeDispatchesFromAFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := open(t)
		first.start()
		if err := first.Start(t.Context()); !errors.Is(err, runtime.ErrStarted) {
			t.Errorf("a second Start returned %v, want ErrStarted", err)
		}
		second := reopen(t, first.path)
		second.publish(1) // publishing works beside it
		err := second.Start(t.Context())
		var owned *runtime.OwnedError
		if !errors.Is(err, runtime.ErrAlreadyRunning) || !errors.As(err, &owned) || owned.PID == 0 || owned.Since.IsZero() {
			t.Errorf("the second bus got %v", err)
		}
		first.stop()
		must(t, second.Start(t.Context()))
	})
}

func TestAStandbyTakesOverWhenTheOwnerEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := open(t)
		first.start()
		second := reopen(t, first.path, runtime.WithStandby())
		var seen journal[int]
		second.handle("reader", func(_ context.Context, e runtime.Event[orderPlaced]) error {
			seen.add(e.Payload.Number)
			return nil
		})
		started := make(chan error)
		go func() { started <- second.Start(t.Context()) }()
		time.Sleep(time.Hour)
		first.publish(1)
		synctest.Wait()
		if got := seen.all(); len(got) != 0 {
			t.Errorf("the standby handled %v beside the owner", got)
		}
		if err := second.Start(t.Context()); !errors.Is(err, runtime.ErrStarted) {
			t.Errorf("starting a second time returned %v", err)
		}
		first.stop()
		stopped := time.Now()
		must(t, <-started)
		if took := time.Since(stopped); took > 50*time.Millisecond {
			t.Errorf("the standby needed %v", took)
		}
		second.idle()
		if got := seen.all(); !slices.Equal(got, []int{1}) {
			t.Errorf("the standby handled %v, want 1", got)
		}
	})
}

func TestAStandbyCanBeGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := open(t)
		first.start()
		second := reopen(t, first.path, runtime.WithStandby())
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := second.Start(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Start returned %v at its deadline", err)
		}
		started := make(chan error)
		go func() { started <- second.Start(t.Context()) }()
		synctest.Wait()
		second.stop()
		if err := <-started; !errors.Is(err, runtime.ErrShutdown) {
			t.Errorf("Start returned %v at the shutdown", err)
		}
	})
}

func TestARunningBusSeesTheEventsAndRetriesOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		healthy := false
		var seen journal[int]
		f.handle("reader", func(_ context.Context, e runtime.Event[orderPlaced]) error {
			if e.Payload.Number == 1 && !healthy {
				return errBoom
			}
			seen.add(e.Payload.Number)
			return nil
		}, runtime.WithRetry(retry.MaxAttempts(1)))
		f.start()
		f.publish(1)
		f.idle()
		healthy = true

		other := reopen(t, f.path)
		outcome, err := other.publish(2)[0].Wait(t.Context())
		must(t, err)
		if err := outcome.Err(); err != nil || len(outcome.Deliveries) != 1 {
			t.Errorf("the outcome seen by the other bus is %+v", outcome)
		}
		inspector, err := dlq.Open(f.path)
		must(t, err)
		defer inspector.Close()
		letters, _, err := inspector.List(t.Context(), dlq.Filter{}, dlq.Page{})
		must(t, err)
		began := time.Now()
		_, err = inspector.Retry(t.Context(), dlq.Only(letters[0].Key))
		must(t, err)
		for len(seen.all()) < 2 {
			time.Sleep(10 * time.Millisecond)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("the retried dead letter took %v to arrive", took)
		}
		f.publish(3)
		f.idle()
		if got := seen.all(); !slices.Equal(got, []int{2, 1, 3}) {
			t.Errorf("saw %v, want 2, 1, 3", got)
		}
	})
}
