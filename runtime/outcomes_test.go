package runtime_test

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
	"github.com/busgen/busgen/runtime/admin"
	"github.com/busgen/busgen/runtime/retry"
)

// execution is one call of a handler.
type execution struct {
	attempt int
	at      time.Duration // since the event was published
}

// steered publishes one order whose handler does what do says, waits until it
// is settled and returns when the handler ran, and the file.
func steered(t *testing.T, do func(e runtime.Event[orderPlaced]) error, busOpts []runtime.Option, opts ...runtime.SubscribeOption) ([]execution, *fixture, runtime.Outcome) {
	t.Helper()
	f := open(t, busOpts...)
	var ran journal[execution]
	f.handle("steering", func(_ context.Context, e runtime.Event[orderPlaced]) error {
		ran.add(execution{e.Attempt, time.Since(e.PublishedAt).Round(time.Millisecond)})
		return do(e)
	}, opts...)
	f.start()
	outcome, err := f.publish(1)[0].Wait(t.Context())
	must(t, err)
	return ran.all(), f, outcome
}

func TestAHandlerSteersByWhatItReturns(t *testing.T) {
	twice := func(first error) func(runtime.Event[orderPlaced]) error {
		calls := 0
		return func(runtime.Event[orderPlaced]) error {
			calls++
			if calls == 1 {
				return first
			}
			return nil
		}
	}
	always := func(err error) func(runtime.Event[orderPlaced]) error {
		return func(runtime.Event[orderPlaced]) error { return err }
	}
	for name, test := range map[string]struct {
		do     func(runtime.Event[orderPlaced]) error
		opts   []runtime.SubscribeOption
		want   []execution
		reason string // of the dead letter; empty if it is none
	}{
		"a permanent error is the last": {
			do: always(runtime.Permanent(errBoom)), want: []execution{{1, 0}}, reason: "permanent",
		},
		"a permanent error that is wrapped is the last": {
			do: always(fmt.Errorf("charging: %w", runtime.Permanent(errBoom))), want: []execution{{1, 0}}, reason: "permanent",
		},
		"a permanent error among several is the last": {
			do: always(errors.Join(errBoom, runtime.Permanent(errBoom))), want: []execution{{1, 0}}, reason: "permanent",
		},
		"a delay of its own replaces that of the policy": {
			do: twice(runtime.RetryAfter(90*time.Second, errBoom)), want: []execution{{1, 0}, {2, 90 * time.Second}},
		},
		"a delay of its own is charged": {
			do: always(runtime.RetryAfter(time.Minute, errBoom)), opts: []runtime.SubscribeOption{runtime.WithRetry(retry.MaxAttempts(2))},
			want: []execution{{1, 0}, {2, time.Minute}}, reason: "max_attempts",
		},
		"a negative delay is none": {
			do: twice(runtime.RetryAfter(-time.Hour, errBoom)), want: []execution{{1, 0}, {2, 0}},
		},
		"a snoozed event comes again with the next number": {
			do: twice(runtime.Snooze(time.Hour)), opts: []runtime.SubscribeOption{runtime.WithRetry(retry.MaxAttempts(1))},
			want: []execution{{1, 0}, {2, time.Hour}},
		},
		"the outermost of several decides": {
			do: twice(runtime.RetryAfter(time.Minute, runtime.Permanent(errBoom))), want: []execution{{1, 0}, {2, time.Minute}},
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
			do: twice(errBoom),
			opts: []runtime.SubscribeOption{
				runtime.WithPermanentErrors(func(error) bool { panic("a rule that panics does not match") }),
				runtime.WithErrorRetry(runtime.ErrorIs(errBoom), retry.BaseDelay(5*time.Second)),
				runtime.WithPermanentErrors(runtime.ErrorIs(errBoom)),
			},
			want: []execution{{1, 0}, {2, 5 * time.Second}},
		},
		"what the handler says goes before what its class says": {
			do:   twice(runtime.RetryAfter(7*time.Second, errBoom)),
			opts: []runtime.SubscribeOption{runtime.WithPermanentErrors(runtime.ErrorIs(errBoom))},
			want: []execution{{1, 0}, {2, 7 * time.Second}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got, f, outcome := steered(t, test.do, nil, test.opts...)
				if !slices.Equal(got, test.want) {
					t.Errorf("ran %v, want %v", got, test.want)
				}
				if d := outcome.Deliveries[0]; d.Dead != (test.reason != "") || d.Reason != test.reason {
					t.Errorf("the outcome is %+v, want the reason %q", d, test.reason)
				}
				if test.reason != "" {
					if l := letter(t, f.path); l.Reason != test.reason || len(l.Attempts) != len(got) {
						t.Errorf("the dead letter has reason %s and %d attempts", l.Reason, len(l.Attempts))
					}
				}
			})
		})
	}
}

func TestADiscardedEventIsSettledAndNoDeadLetter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran, f, outcome := steered(t, func(runtime.Event[orderPlaced]) error {
			return fmt.Errorf("checking: %w", runtime.Discard("the customer is gone"))
		}, nil)
		if len(ran) != 1 {
			t.Errorf("ran %v", ran)
		}
		d := outcome.Deliveries[0]
		if !d.Discarded || d.Dead || d.Reason != "the customer is gone" || outcome.Err() != nil {
			t.Errorf("the outcome is %+v", d)
		}
		f.idle()
		for _, d := range f.peek().deliveries() {
			if d.State != admin.StateDiscarded {
				t.Errorf("the delivery is %s, want discarded", d.State)
			}
		}
		f.stop()
		// It stays settled.
		f = reopen(t, f.path)
		f.handle("steering", func(context.Context, runtime.Event[orderPlaced]) error {
			t.Error("it was delivered again")
			return nil
		})
		f.start()
		f.idle()
	})
}

func TestWhatADiscardingHandlerHasPublishedIsNotStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		f.handle("discarding", func(ctx context.Context, e runtime.Event[orderPlaced]) error {
			_, err := runtime.Publish(ctx, f.Bus, paidType, orderPaid{OrderID: "A"})
			must(t, err)
			return runtime.Discard("no")
		})
		f.start()
		f.publish(1)
		f.idle()
		if n := f.peek().stored(); n != 1 {
			t.Errorf("%d events are stored", n)
		}
	})
}

func TestNilStaysNil(t *testing.T) {
	if runtime.Permanent(nil) != nil || runtime.RetryAfter(time.Second, nil) != nil {
		t.Error("no error became one")
	}
	if err := runtime.Permanent(errBoom); err.Error() != "boom" || !errors.Is(err, errBoom) {
		t.Errorf("the error is %v", err)
	}
}

func TestASnoozeSurvivesARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		snooze := func(_ context.Context, e runtime.Event[orderPlaced]) error { return runtime.Snooze(time.Hour) }
		f.handle("sleeper", snooze)
		f.start()
		f.publish(1)
		time.Sleep(time.Minute)
		f.stop()
		time.Sleep(9 * time.Minute)

		f = reopen(t, f.path)
		var at journal[execution]
		f.handle("sleeper", func(_ context.Context, e runtime.Event[orderPlaced]) error {
			at.add(execution{e.Attempt, time.Since(e.PublishedAt).Round(time.Second)})
			return nil
		})
		f.start()
		f.idle()
		if got := at.all(); !slices.Equal(got, []execution{{2, time.Hour}}) {
			t.Errorf("ran %v, want the second execution after an hour", got)
		}
	})
}

func TestAnEventExpires(t *testing.T) {
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
				f := open(t)
				var ran journal[execution]
				f.handle("late", func(_ context.Context, e runtime.Event[orderPlaced]) error {
					ran.add(execution{e.Attempt, time.Since(e.PublishedAt).Round(time.Second)})
					if e.Attempt == 2 && test.wait > 0 {
						time.Sleep(2 * time.Second)
					}
					return errBoom
				}, test.opts...)
				f.publish(1)
				time.Sleep(test.wait)
				f.start()
				f.idle()
				if got := ran.all(); !slices.Equal(got, test.want) {
					t.Errorf("ran %v, want %v", got, test.want)
				}
				if l := letter(t, f.path); l.Reason != "expired" || len(l.Attempts) != len(test.want) {
					t.Errorf("the dead letter has reason %s and %d attempts", l.Reason, len(l.Attempts))
				}
			})
		})
	}
}

func TestAnExpiredLetterThatIsRetriedHasItsTimeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		var ran journal[int]
		f.handle("late", func(_ context.Context, e runtime.Event[orderPlaced]) error {
			ran.add(e.Attempt)
			return nil
		}, runtime.WithExpiresAfter(time.Minute))
		f.publish(1)
		time.Sleep(time.Hour)
		f.start()
		f.idle()
		l := letter(t, f.path)
		redrive(t, f.path, l.Key)
		time.Sleep(time.Second)
		f.idle()
		if got := ran.all(); !slices.Equal(got, []int{1}) {
			t.Errorf("ran %v, want once", got)
		}
	})
}

func TestASlowHandlerIsLoggedOnceAnAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		f.handle("slow", func(_ context.Context, e runtime.Event[orderPlaced]) error {
			time.Sleep(25 * time.Second)
			if e.Attempt == 1 {
				return errBoom
			}
			return nil
		})
		f.handle("quick", func(context.Context, runtime.Event[orderPlaced]) error {
			time.Sleep(9 * time.Second)
			return nil
		})
		f.handle("warned early", func(context.Context, runtime.Event[orderPlaced]) error {
			time.Sleep(9 * time.Second)
			return nil
		}, runtime.WithSlowAfter(time.Second))
		f.handle("never warned", func(context.Context, runtime.Event[orderPlaced]) error {
			time.Sleep(25 * time.Second)
			return nil
		}, runtime.WithSlowAfter(0))
		f.start()
		f.publish(1)
		f.idle()
		warned := map[string]int{}
		for _, line := range f.log.level(t, "WARN") {
			if line["msg"] == "a handler is slow" {
				warned[fmt.Sprint(line["subscription_id"])]++
			}
		}
		if len(warned) != 2 || warned["slow"] != 2 || warned["warned early"] != 1 {
			t.Errorf("warned %v, want slow twice and warned early once", warned)
		}
	})
}
