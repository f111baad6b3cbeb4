package conformance

import (
	"context"
	"errors"
	goruntime "runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/observe"
	"github.com/busgen/busgen/runtime/retry"
)

func (env *Env) TestAnEphemeralSubscriptionRetriesAndThenDropsTheEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var failed, retrying Journal[bool]
		var dead Journal[observe.DeadInfo]
		f := env.Open(t, runtime.WithObserver(observe.Observer{
			Failed:   func(i observe.FailedInfo) { failed.Add(i.Ephemeral) },
			Retrying: func(i observe.RetryingInfo) { retrying.Add(i.Ephemeral) },
			Dead:     func(i observe.DeadInfo) { dead.Add(i) },
		}))
		var notices, attempts Journal[int]
		_, err := runtime.SubscribeDead(f.Bus, PlacedType, "dead", func(context.Context, runtime.Event[runtime.DeadLetter[OrderPlaced]]) error {
			notices.Add(1)
			return nil
		})
		Must(t, err)
		f.MustStart()
		began := time.Now()
		var at Journal[time.Duration]
		s := f.Handle("live", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			at.Add(time.Since(began))
			attempts.Add(e.Attempt)
			return ErrBoom
		}, runtime.Ephemeral(), runtime.WithRetry(retry.MaxAttempts(3), retry.BaseDelay(time.Second)))
		receipt := f.Publish(1)[0]
		if outcome, err := receipt.Wait(t.Context()); err != nil || len(outcome.Deliveries) > 0 {
			t.Errorf("the receipt says %+v, %v, and should not know the ephemeral subscription", outcome, err)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if got, want := at.All(), []time.Duration{0, time.Second, 3 * time.Second}; !slices.Equal(got, want) {
			t.Errorf("attempts after %v, want %v", got, want)
		}
		if got := attempts.All(); !slices.Equal(got, []int{1, 2, 3}) {
			t.Errorf("attempts %v", got)
		}
		if len(failed.All()) != 3 || len(retrying.All()) != 2 || slices.Contains(failed.All(), false) {
			t.Errorf("observers were told of %v failures and %v retries, all of them ephemeral", failed.All(), retrying.All())
		}
		if got := dead.All(); len(got) != 1 || !got[0].Ephemeral || got[0].Reason != "max_attempts" || got[0].Subscription != "live" {
			t.Errorf("observers were told of %+v", got)
		}
		lines := f.Log.Level(t, "ERROR")
		if len(lines) != 1 || !strings.Contains(lines[0]["msg"].(string), "drops an event") || lines[0]["ephemeral"] != true {
			t.Errorf("logged %v, want that the event is dropped", lines)
		}
		if len(notices.All()) > 0 {
			t.Error("there is a dead-letter notice")
		}
		stats := f.Stats()
		one := stats.Subscriptions[len(stats.Subscriptions)-1]
		if !one.Ephemeral || one.Name != "live" || one.Failed != 3 || one.Dead != 1 {
			t.Errorf("stats: %+v", one)
		}
		Must(t, s.Unsubscribe(t.Context()))
		file, err := env.OpenFile(t.Context(), f.Path)
		Must(t, err)
		defer file.Close()
		if n, err := file.CountDeadLetters(t.Context(), event.Filter{}); n != 0 || err != nil {
			t.Errorf("%d dead letters, %v", n, err)
		}
		lags, err := f.Lag(t.Context())
		Must(t, err)
		if len(lags) != 1 || lags[0].Subscription != "dead" {
			t.Errorf("the file has %+v, want the durable name alone", lags)
		}
	})
}

func (env *Env) TestAnEphemeralHandlerCannotWaitForItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var s *runtime.Subscription
		var errs Journal[error]
		s = f.Handle("", func(ctx context.Context, _ runtime.Event[OrderPlaced]) error {
			errs.Add(s.Unsubscribe(ctx))
			errs.Add(f.Shutdown(ctx))
			errs.Add(f.WaitIdle(ctx))
			return nil
		}, runtime.Ephemeral())
		f.Publish(1)
		synctest.Wait()
		for _, err := range errs.All() {
			if !errors.Is(err, runtime.ErrInsideHandler) {
				t.Errorf("got %v, want ErrInsideHandler", err)
			}
		}
		if len(errs.All()) != 3 {
			t.Errorf("got %v", errs.All())
		}
	})
}

func (env *Env) TestWhatAnEphemeralHandlerPublishesIsStoredIfItSucceeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var paid Journal[string]
		var published Journal[string]
		_, err := runtime.SubscribePattern(f.Bus, "order.paid", "", func(_ context.Context, e runtime.Event[runtime.Raw]) error {
			paid.Add(e.PublishedBy + " " + e.ParentID.String())
			return nil
		}, runtime.Ephemeral())
		Must(t, err)
		var late atomic.Pointer[error]
		f.Handle("live", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			_, err := runtime.PublishBatch(ctx, f.Bus, PaidType, []OrderPaid{{}, {}})
			Must(t, err)
			synctest.Wait()
			published.Add(e.ID.String())
			if len(paid.All()) > 0 {
				t.Error("an event is delivered before the handler that published it has succeeded")
			}
			if e.Attempt == 1 {
				return ErrBoom
			}
			go func() {
				time.Sleep(time.Second)
				_, err := runtime.Publish(ctx, f.Bus, PaidType, OrderPaid{})
				late.Store(&err)
			}()
			return nil
		}, runtime.Ephemeral())
		receipt := f.Publish(1)[0]
		time.Sleep(time.Minute)
		synctest.Wait()
		want := "live " + receipt.ID.String()
		if got := paid.All(); !slices.Equal(got, []string{want, want}) {
			t.Errorf("children %v, want two of the second attempt", got)
		}
		if len(published.All()) != 2 {
			t.Errorf("%d attempts", len(published.All()))
		}
		if err := late.Load(); err == nil || !errors.Is(*err, runtime.ErrAttemptOver) {
			t.Error("a goroutine that the handler left behind could publish with its context")
		}
	})
}

func (env *Env) TestAnEphemeralHandlerCanWaitForWhatItPublishesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.MustStart()
		var first atomic.Pointer[runtime.Receipt]
		_, err := runtime.Subscribe(f.Bus, PaidType, "durable", func(ctx context.Context, e runtime.Event[OrderPaid]) error {
			_, err := first.Load().Wait(ctx) // no circle: nobody waits for the ephemeral delivery
			return err
		})
		Must(t, err)
		var outcome Journal[error]
		published := make(chan struct{})
		f.Handle("", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			<-published
			receipt, err := runtime.Publish(ctx, f.Bus, PaidType, OrderPaid{}, runtime.Immediately())
			Must(t, err)
			got, err := receipt.Wait(ctx)
			if len(got.Deliveries) != 1 {
				t.Errorf("the child has %+v", got)
			}
			outcome.Add(errors.Join(err, got.Err()))
			return nil
		}, runtime.Ephemeral())
		first.Store(f.Publish(1)[0])
		close(published)
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := outcome.All(); len(got) != 1 || got[0] != nil {
			t.Errorf("waiting returned %v", got)
		}
	})
}

func (env *Env) TestAnEphemeralHandlerThatPanicsOrEndsItsGoroutineIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var seen Journal[int]
		f.Handle("", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			seen.Add(e.Attempt)
			switch e.Attempt {
			case 1:
				panic("boom")
			case 2:
				goruntime.Goexit()
			case 3:
				var none *typedNil
				return none
			}
			return nil
		}, runtime.Ephemeral(), runtime.WithRetry(retry.MaxAttempts(5)))
		f.Publish(1)
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := seen.All(); !slices.Equal(got, []int{1, 2, 3, 4}) {
			t.Errorf("attempts %v", got)
		}
	})
}

// typedNil is an error whose methods panic for the nil pointer.
type typedNil struct{ text string }

func (e *typedNil) Error() string { return e.text }
