package conformance

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/retry"
)

// What the publisher of an event says about its deliveries: priority, timeout and expiry.

// say publishes an event with options.
func (f *Fixture) say(number int, opts ...runtime.PublishOption) *runtime.Receipt {
	f.T.Helper()
	receipt, err := runtime.Publish(f.T.Context(), f.Bus, PlacedType, OrderPlaced{Number: number}, opts...)
	Must(f.T, err)
	return receipt
}

func (env *Env) TestAnEventWithAPriorityOfItsOwnOvertakesOthersOfItsType(t *testing.T) {
	for name, opts := range map[string][]runtime.SubscribeOption{
		"one at a time": nil, "in strict order by key": {runtime.WithStrictOrder(), runtime.WithConcurrency(2)}, "in a group": {runtime.InGroup("all")},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := env.Open(t)
				var seen Journal[int]
				f.Handle("printer", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
					seen.Add(e.Payload.Number)
					if e.Metadata != nil {
						t.Errorf("the handler sees the metadata %v, which are the bus's own", e.Metadata)
					}
					return nil
				}, opts...)
				f.say(1, runtime.WithPriority(runtime.PriorityLow))
				f.say(2)
				f.say(3, runtime.WithPriority(runtime.PriorityHigh))
				f.Stop()
				f = env.Reopen(t, f.Path) // it is stored
				f.Handle("printer", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
					seen.Add(e.Payload.Number)
					return nil
				}, opts...)
				f.MustStart()
				f.Idle()
				want := []int{3, 2, 1}
				if name == "in strict order by key" {
					want = []int{1, 2, 3} // they have one key
				}
				if got := seen.All(); !slices.Equal(got, want) {
					t.Errorf("they were handled in the order %v, want %v", got, want)
				}
			})
		})
	}
}

func (env *Env) TestAnEventWithAPriorityOfItsOwnDoesNotOvertakeItsKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var seen Journal[int]
		f.Handle("printer", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			seen.Add(e.Payload.Number)
			return nil
		})
		say := func(number int, order string, opts ...runtime.PublishOption) {
			_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{OrderID: order, Number: number}, opts...)
			Must(t, err)
		}
		f.MustStart()
		f.Idle()
		_, err := runtime.Publish(t.Context(), f.Bus, PaidType, OrderPaid{})
		Must(t, err)
		f.Stop()
		f = env.Reopen(t, f.Path)
		say(1, "a")
		say(2, "b")
		say(3, "b", runtime.WithPriority(runtime.PriorityHigh))
		say(4, "c", runtime.WithPriority(runtime.PriorityHigh))
		say(5, "a")
		f.Handle("printer", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			seen.Add(e.Payload.Number)
			return nil
		})
		f.MustStart()
		f.Idle()
		if got, want := seen.All(), []int{4, 1, 2, 3, 5}; !slices.Equal(got, want) {
			t.Errorf("they were handled in the order %v, want %v", got, want)
		}
	})
}

func (env *Env) TestThePublisherCanShortenTheTimeoutOfAnEvent(t *testing.T) {
	for name, test := range map[string]struct {
		says, subscription, want time.Duration
	}{
		"a shorter one holds":       {2 * time.Second, 10 * time.Second, 2 * time.Second},
		"a longer one changes none": {20 * time.Second, 10 * time.Second, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := env.Open(t)
				var causes Journal[error]
				f.Handle("slow", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
					deadline, _ := ctx.Deadline()
					if got := time.Until(deadline); got != test.want {
						t.Errorf("attempt %d has %v, want %v", e.Attempt, got, test.want)
					}
					<-ctx.Done()
					causes.Add(context.Cause(ctx))
					return ctx.Err()
				}, runtime.WithTimeout(test.subscription))
				f.MustStart()
				f.say(1, runtime.WithAttemptTimeout(test.says))
				f.Idle()
				if all := causes.All(); len(all) < 2 {
					t.Errorf("%d attempts, want all that the policy allows: it is the time of one", len(all))
				}
				for _, cause := range causes.All() {
					var late *runtime.TimeoutError
					if !errors.As(cause, &late) || late.After != test.want {
						t.Errorf("the cause is %v", cause)
					}
				}
			})
		})
	}
}

func (env *Env) TestThePublisherCanLetAnEventExpire(t *testing.T) {
	for name, test := range map[string]struct {
		says, subscription, delay, want time.Duration
	}{
		"it alone":             {says: time.Minute, want: time.Minute},
		"sooner than the type": {says: time.Minute, subscription: time.Hour, want: time.Minute},
		"later than the type":  {says: time.Hour, subscription: time.Minute, want: time.Minute},
		"from the due time on": {says: time.Minute, delay: time.Hour, want: time.Hour + time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := env.Open(t)
				began := time.Now()
				f.Handle("waiter", func(context.Context, runtime.Event[OrderPlaced]) error {
					return runtime.RetryAfter(10*time.Second, ErrBoom)
				}, runtime.WithExpiresAfter(test.subscription), runtime.WithRetry(retry.MaxAttempts(1000)))
				f.MustStart()
				opts := []runtime.PublishOption{runtime.WithExpiry(test.says)}
				if test.delay > 0 {
					opts = append(opts, runtime.WithDelay(test.delay))
				}
				f.say(1, opts...)
				time.Sleep(2 * time.Hour)
				l := env.Letter(t, f.Path)
				if died := l.DeadAt.Sub(began); l.Reason != "expired" || died > test.want || died < test.want-11*time.Second {
					t.Errorf("dead as %s after %v, want expired, within %v", l.Reason, died, test.want)
				}
			})
		})
	}
}

func (env *Env) TestWhatIsSaidOfAnEventIsNotSaidOfItsChildrenAndNotices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		limit := func(ctx context.Context) time.Duration {
			deadline, _ := ctx.Deadline()
			return time.Until(deadline)
		}
		var limits Journal[time.Duration]
		f.Handle("parent", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			limits.Add(limit(ctx))
			if e.Payload.Number == 2 {
				return runtime.Permanent(ErrBoom)
			}
			_, err := runtime.Publish(ctx, f.Bus, PaidType, OrderPaid{})
			return err
		}, runtime.WithTimeout(9*time.Second))
		_, err := runtime.Subscribe(f.Bus, PaidType, "child", func(ctx context.Context, _ runtime.Event[OrderPaid]) error {
			limits.Add(limit(ctx))
			return nil
		}, runtime.WithTimeout(9*time.Second))
		Must(t, err)
		_, err = runtime.SubscribeDead(f.Bus, PlacedType, "notices", func(ctx context.Context, _ runtime.Event[runtime.DeadLetter[OrderPlaced]]) error {
			limits.Add(limit(ctx))
			return nil
		}, runtime.WithTimeout(9*time.Second))
		Must(t, err)
		f.MustStart()
		for _, number := range []int{1, 2} {
			f.say(number, runtime.WithAttemptTimeout(time.Second), runtime.WithExpiry(time.Minute), runtime.WithPriority(runtime.PriorityHigh))
			f.Idle()
		}
		want := []time.Duration{time.Second, 9 * time.Second, time.Second, 9 * time.Second}
		if got := limits.All(); !slices.Equal(got, want) {
			t.Errorf("the handlers have %v, want %v", got, want)
		}
	})
}

func (env *Env) TestWhatCannotBeSaidOfAnEventIsRefused(t *testing.T) {
	f := env.Open(t)
	for name, opt := range map[string]runtime.PublishOption{
		"WithPriority": runtime.WithPriority(runtime.Priority(17)), "WithAttemptTimeout": runtime.WithAttemptTimeout(0),
		"WithExpiry":   runtime.WithExpiry(-time.Second),
		"WithMetadata": runtime.WithMetadata(map[string]string{"busgen.priority": "high"}),
	} {
		_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{}, opt)
		var wrong *runtime.OptionError
		if !errors.As(err, &wrong) || wrong.Option != name {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := f.peek().stored(); n != 0 {
		t.Errorf("%d events are stored", n)
	}
}
