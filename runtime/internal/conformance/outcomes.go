package conformance

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/retry"
)

// execution is one call of a handler.
type execution struct {
	attempt int
	at      time.Duration // since the event was published
}

// steered publishes one order whose handler does what do says, waits until it
// is settled and returns when the handler ran, and the file.
func (env *Env) steered(t *testing.T, do func(e runtime.Event[OrderPlaced]) error, busOpts []runtime.Option, opts ...runtime.SubscribeOption) ([]execution, *Fixture, runtime.Outcome) {
	t.Helper()
	f := env.Open(t, busOpts...)
	var ran Journal[execution]
	f.Handle("steering", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
		ran.Add(execution{e.Attempt, time.Since(e.PublishedAt).Round(time.Millisecond)})
		return do(e)
	}, opts...)
	f.MustStart()
	outcome, err := f.Publish(1)[0].Wait(t.Context())
	Must(t, err)
	return ran.All(), f, outcome
}

func (env *Env) TestTheErrorOfAHandlerChoosesTheDisposition(t *testing.T) {
	twice := func(first error) func(runtime.Event[OrderPlaced]) error {
		calls := 0
		return func(runtime.Event[OrderPlaced]) error {
			calls++
			if calls == 1 {
				return first
			}
			return nil
		}
	}
	always := func(err error) func(runtime.Event[OrderPlaced]) error {
		return func(runtime.Event[OrderPlaced]) error { return err }
	}
	for name, test := range map[string]struct {
		do     func(runtime.Event[OrderPlaced]) error
		opts   []runtime.SubscribeOption
		want   []execution
		reason string // of the dead letter; empty if it is none
	}{
		"a permanent error is the last": {
			do: always(runtime.Permanent(ErrBoom)), want: []execution{{1, 0}}, reason: "permanent",
		},
		"a permanent error that is wrapped is the last": {
			do: always(fmt.Errorf("charging: %w", runtime.Permanent(ErrBoom))), want: []execution{{1, 0}}, reason: "permanent",
		},
		"a permanent error among several is the last": {
			do: always(errors.Join(ErrBoom, runtime.Permanent(ErrBoom))), want: []execution{{1, 0}}, reason: "permanent",
		},
		"a delay of its own replaces that of the policy": {
			do: twice(runtime.RetryAfter(90*time.Second, ErrBoom)), want: []execution{{1, 0}, {2, 90 * time.Second}},
		},
		"a delay of its own is charged": {
			do: always(runtime.RetryAfter(time.Minute, ErrBoom)), opts: []runtime.SubscribeOption{runtime.WithRetry(retry.MaxAttempts(2))},
			want: []execution{{1, 0}, {2, time.Minute}}, reason: "max_attempts",
		},
		"a negative delay is none": {
			do: twice(runtime.RetryAfter(-time.Hour, ErrBoom)), want: []execution{{1, 0}, {2, 0}},
		},
		"a snoozed event comes again with the next number": {
			do: twice(runtime.Snooze(time.Hour)), opts: []runtime.SubscribeOption{runtime.WithRetry(retry.MaxAttempts(1))},
			want: []execution{{1, 0}, {2, time.Hour}},
		},
		"a snooze until a time that has passed is a short one": {
			do: twice(runtime.Snooze(-time.Hour)), want: []execution{{1, 0}, {2, 100 * time.Millisecond}},
		},
		"a snooze of no time is a short one": {
			do: twice(runtime.Snooze(0)), want: []execution{{1, 0}, {2, 100 * time.Millisecond}},
		},
		"the outermost of several decides": {
			do: twice(runtime.RetryAfter(time.Minute, runtime.Permanent(ErrBoom))), want: []execution{{1, 0}, {2, time.Minute}},
		},
		"a class of errors is permanent for a subscription": {
			do:   always(fmt.Errorf("opening: %w", fs.ErrNotExist)),
			opts: []runtime.SubscribeOption{runtime.WithPermanentErrors(runtime.ErrorIs(fs.ErrNotExist))},
			want: []execution{{1, 0}}, reason: "permanent",
		},
		"a class of errors has a policy of its own": {
			do: twice(&fs.PathError{Op: "open", Path: "x", Err: fs.ErrPermission}),
			opts: []runtime.SubscribeOption{
				runtime.WithErrorRetry(runtime.ErrorAs[*fs.PathError](), retry.BaseDelay(20*time.Second)),
			},
			want: []execution{{1, 0}, {2, 20 * time.Second}},
		},
		"the first rule that matches decides": {
			do: twice(ErrBoom),
			opts: []runtime.SubscribeOption{
				runtime.WithPermanentErrors(func(error) bool { panic("a rule that panics does not match") }),
				runtime.WithErrorRetry(runtime.ErrorIs(ErrBoom), retry.BaseDelay(5*time.Second)),
				runtime.WithPermanentErrors(runtime.ErrorIs(ErrBoom)),
			},
			want: []execution{{1, 0}, {2, 5 * time.Second}},
		},
		"what the handler says goes before what its class says": {
			do:   twice(runtime.RetryAfter(7*time.Second, ErrBoom)),
			opts: []runtime.SubscribeOption{runtime.WithPermanentErrors(runtime.ErrorIs(ErrBoom))},
			want: []execution{{1, 0}, {2, 7 * time.Second}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got, f, outcome := env.steered(t, test.do, nil, test.opts...)
				if !slices.Equal(got, test.want) {
					t.Errorf("ran %v, want %v", got, test.want)
				}
				if d := outcome.Deliveries[0]; d.Dead != (test.reason != "") || d.Reason != test.reason {
					t.Errorf("the outcome is %+v, want the reason %q", d, test.reason)
				}
				if test.reason != "" {
					if l := env.Letter(t, f.Path); l.Reason != test.reason || len(l.Attempts) != len(got) {
						t.Errorf("the dead letter has reason %s and %d attempts", l.Reason, len(l.Attempts))
					}
				}
			})
		})
	}
}

func (env *Env) TestTheTextOfAnErrorIsKeptWholeWhateverIsInIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const text = "before\x00after\x1b[31m\u2028 \ufeff"
		_, f, outcome := env.steered(t, func(runtime.Event[OrderPlaced]) error { return runtime.Permanent(errors.New(text)) }, nil)
		if got := outcome.Deliveries[0].LastError; got != text {
			t.Errorf("the outcome has the error %q, want %q", got, text)
		}
		if got := env.Letter(t, f.Path).LastAttempt().Error; got != text {
			t.Errorf("the dead letter has the error %q, want %q", got, text)
		}
		f.Stop()
		if got := env.Letter(t, f.Path).LastAttempt().Error; got != text {
			t.Errorf("read again, the dead letter has the error %q, want %q", got, text)
		}
	})
}

func (env *Env) TestADiscardedEventIsSettledWithoutADeadLetter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran, f, outcome := env.steered(t, func(runtime.Event[OrderPlaced]) error {
			return fmt.Errorf("checking: %w", runtime.Discard("the customer is gone"))
		}, nil)
		if len(ran) != 1 {
			t.Errorf("ran %v", ran)
		}
		d := outcome.Deliveries[0]
		if !d.Discarded || d.Dead || d.Reason != "the customer is gone" || outcome.Err() != nil {
			t.Errorf("the outcome is %+v", d)
		}
		f.Idle()
		for _, d := range f.peek().deliveries() {
			if d.State != event.StateDiscarded {
				t.Errorf("the delivery is %s, want discarded", d.State)
			}
		}
		f.Stop()
		// It stays settled.
		f = env.Reopen(t, f.Path)
		f.Handle("steering", func(context.Context, runtime.Event[OrderPlaced]) error {
			t.Error("it was delivered again")
			return nil
		})
		f.MustStart()
		f.Idle()
	})
}

func (env *Env) TestEventsPublishedByADiscardingHandlerAreNotStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Handle("discarding", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			_, err := runtime.Publish(ctx, f.Bus, PaidType, OrderPaid{OrderID: "A"})
			Must(t, err)
			return runtime.Discard("no")
		})
		f.MustStart()
		f.Publish(1)
		f.Idle()
		if n := f.peek().stored(); n != 1 {
			t.Errorf("%d events are stored", n)
		}
	})
}

func (env *Env) TestNilStaysNil(t *testing.T) {
	if runtime.Permanent(nil) != nil || runtime.RetryAfter(time.Second, nil) != nil {
		t.Error("no error became one")
	}
	if err := runtime.Permanent(ErrBoom); err.Error() != "boom" || !errors.Is(err, ErrBoom) {
		t.Errorf("the error is %v", err)
	}
}

func (env *Env) TestASnoozeSurvivesARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		snooze := func(_ context.Context, e runtime.Event[OrderPlaced]) error { return runtime.Snooze(time.Hour) }
		f.Handle("sleeper", snooze)
		f.MustStart()
		f.Publish(1)
		time.Sleep(time.Minute)
		f.Stop()
		time.Sleep(9 * time.Minute)

		f = env.Reopen(t, f.Path)
		var at Journal[execution]
		f.Handle("sleeper", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			at.Add(execution{e.Attempt, time.Since(e.PublishedAt).Round(time.Second)})
			return nil
		})
		f.MustStart()
		f.Idle()
		if got := at.All(); !slices.Equal(got, []execution{{2, time.Hour}}) {
			t.Errorf("ran %v, want the second execution after an hour", got)
		}
	})
}

func (env *Env) TestAnEventExpires(t *testing.T) {
	for name, test := range map[string]struct {
		opts []runtime.SubscribeOption
		wait time.Duration // before the bus starts
		want []execution
	}{
		"when the next attempt would come too late": {
			opts: []runtime.SubscribeOption{runtime.WithExpiresAfter(5 * time.Second), runtime.WithRetry(retry.MaxAttempts(9))},
			want: []execution{{1, 0}, {2, time.Second}, {3, 3 * time.Second}},
		},
		"without having been tried, if nobody was there in time": {
			opts: []runtime.SubscribeOption{runtime.WithExpiresAfter(time.Hour)},
			wait: time.Hour, want: nil,
		},
		"not a moment too early": {
			opts: []runtime.SubscribeOption{runtime.WithExpiresAfter(time.Hour), runtime.WithRetry(retry.BaseDelay(0), retry.MaxAttempts(1000))},
			wait: time.Hour - time.Second, want: []execution{{1, time.Hour - time.Second}, {2, time.Hour - time.Second}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := env.Open(t)
				var ran Journal[execution]
				f.Handle("late", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
					ran.Add(execution{e.Attempt, time.Since(e.PublishedAt).Round(time.Second)})
					if e.Attempt == 2 && test.wait > 0 {
						time.Sleep(2 * time.Second)
					}
					return ErrBoom
				}, test.opts...)
				f.Publish(1)
				time.Sleep(test.wait)
				f.MustStart()
				f.Idle()
				if got := ran.All(); !slices.Equal(got, test.want) {
					t.Errorf("ran %v, want %v", got, test.want)
				}
				if l := env.Letter(t, f.Path); l.Reason != "expired" || len(l.Attempts) != len(test.want) {
					t.Errorf("the dead letter has reason %s and %d attempts", l.Reason, len(l.Attempts))
				}
			})
		})
	}
}

func (env *Env) TestARetriedExpiredDeadLetterGetsANewExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var ran Journal[int]
		f.Handle("late", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			ran.Add(e.Attempt)
			return nil
		}, runtime.WithExpiresAfter(time.Minute))
		f.Publish(1)
		time.Sleep(time.Hour)
		f.MustStart()
		f.Idle()
		l := env.Letter(t, f.Path)
		env.Redrive(t, f.Path, l.Key)
		time.Sleep(time.Second)
		f.Idle()
		if got := ran.All(); !slices.Equal(got, []int{1}) {
			t.Errorf("ran %v, want once", got)
		}
	})
}

func (env *Env) TestASlowHandlerIsLoggedOnceAnAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Handle("slow", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			time.Sleep(25 * time.Second)
			if e.Attempt == 1 {
				return ErrBoom
			}
			return nil
		})
		f.Handle("quick", func(context.Context, runtime.Event[OrderPlaced]) error {
			time.Sleep(9 * time.Second)
			return nil
		})
		f.Handle("warned early", func(context.Context, runtime.Event[OrderPlaced]) error {
			time.Sleep(9 * time.Second)
			return nil
		}, runtime.WithSlowAfter(time.Second))
		f.Handle("never warned", func(context.Context, runtime.Event[OrderPlaced]) error {
			time.Sleep(25 * time.Second)
			return nil
		}, runtime.WithSlowAfter(0))
		f.MustStart()
		f.Publish(1)
		f.Idle()
		warned := map[string]int{}
		for _, line := range f.Log.Level(t, "WARN") {
			if line["msg"] == "a handler is slow" {
				warned[fmt.Sprint(line["subscription_id"])]++
			}
		}
		if len(warned) != 2 || warned["slow"] != 2 || warned["warned early"] != 1 {
			t.Errorf("warned %v, want slow twice and warned early once", warned)
		}
	})
}
