package conformance

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/ask"
	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/retry"
)

// askedError is an error of the program.
type askedError struct{ text string }

func (e *askedError) Error() string { return e.text }

// A child is an order; its handler fails in some way that steers. The parent returns what the bus says
// of that. It has the policy of its own: two attempts, a second apart.
func (env *Env) TestWhatAnotherHandlerHasAskedForDoesNotSteerTheOneThatReturnsItsError(t *testing.T) {
	program := &askedError{"declined"}
	children := map[string]struct {
		err  error
		lost bool // nothing of the program's is in it
		opts []runtime.SubscribeOption
	}{
		"plain":             {err: program},
		"permanent":         {err: runtime.Permanent(program)},
		"permanent, deep":   {err: fmt.Errorf("charging: %w", runtime.Permanent(program))},
		"retry after":       {err: runtime.RetryAfter(time.Hour, program)},
		"snooze":            {err: runtime.Snooze(time.Millisecond), lost: true, opts: []runtime.SubscribeOption{runtime.WithMaxSnoozes(1)}},
		"hop limit":         {err: &runtime.HopLimitError{EventType: "order.placed"}, lost: true},
		"shutdown":          {err: errors.Join(runtime.ErrShutdown, program)},
		"no answer":         {err: errors.Join(program, ask.ErrNoAnswer)},
		"items of a batch":  {err: &runtime.BatchError{Items: map[int]error{7: program}}},
		"of a child of his": {err: &runtime.DeadLetteredError{Deliveries: []runtime.DeliveryOutcome{{Err: runtime.Permanent(program)}}}},
	}
	// What a parent gets of its child, through each call that says it.
	ways := map[string]func(ctx context.Context, f *Fixture) error{
		"Outcome.Err": func(ctx context.Context, f *Fixture) error {
			o, err := f.declinedChild(ctx).Wait(ctx)
			Must(f.T, err)
			return o.Err()
		},
		"DeliveryOutcome.Err": func(ctx context.Context, f *Fixture) error {
			o, err := f.declinedChild(ctx).Wait(ctx)
			Must(f.T, err)
			return fmt.Errorf("the child: %w", o.Deliveries[0].Err)
		},
		"what is in DeliveryOutcome.Err": func(ctx context.Context, f *Fixture) error {
			o, err := f.declinedChild(ctx).Wait(ctx)
			Must(f.T, err)
			return errors.Join(ErrBoom, errors.Unwrap(o.Deliveries[0].Err))
		},
		"TreeOutcome.Err": func(ctx context.Context, f *Fixture) error {
			o, err := f.declinedChild(ctx).WaitTree(ctx)
			Must(f.T, err)
			return o.Err()
		},
		"Request": func(ctx context.Context, f *Fixture) error {
			_, err := runtime.Request[int](ctx, f.Bus, PlacedType, OrderPlaced{})
			return err
		},
		"Collect": func(ctx context.Context, f *Fixture) error {
			_, err := runtime.Collect[int](ctx, f.Bus, PlacedType, OrderPlaced{})
			return err
		},
	}
	for name, child := range children {
		for way, get := range ways {
			asks, taken := way == "Request" || way == "Collect", way == "what is in DeliveryOutcome.Err"
			if taken && name != "plain" && name != "permanent" && name != "retry after" && name != "snooze" {
				continue // what the program takes out of it is the program's
			}
			if asks && name == "no answer" {
				continue // this one has handled the event
			}
			t.Run(name+"/"+way, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := env.Open(t)
					var began Journal[time.Time]
					_, err := runtime.SubscribeAnswer(f.Bus, UserType, "parent", func(ctx context.Context, _ runtime.Event[UserCreated]) (int, error) {
						began.Add(time.Now())
						err := get(ctx, f)
						if !child.lost && !errors.Is(err, program) {
							t.Errorf("the parent got %v, and does not find the error of the program", err)
						}
						return 1, err
					}, runtime.WithRetry(retry.MaxAttempts(2), retry.WithBackoff(retry.Constant), retry.BaseDelay(time.Second), retry.Jitter(0)),
						runtime.WithMaxSnoozes(3), runtime.WithBreaker(breaker.Off()), runtime.WithTimeout(time.Hour),
						runtime.WithPermanentErrors(func(err error) bool { return !taken && errors.As(err, new(*askedError)) }))
					Must(t, err)
					opts := append([]runtime.SubscribeOption{runtime.WithRetry(retry.MaxAttempts(1)), runtime.WithBreaker(breaker.Off())}, child.opts...)
					if asks {
						_, err = runtime.SubscribeAnswer(f.Bus, PlacedType, "child", func(context.Context, runtime.Event[OrderPlaced]) (int, error) { return 0, child.err }, opts...)
						Must(t, err)
					} else {
						f.Handle("child", func(context.Context, runtime.Event[OrderPlaced]) error { return child.err }, opts...)
					}
					f.MustStart()
					r, err := runtime.Publish(t.Context(), f.Bus, UserType, UserCreated{Name: "Ada"})
					Must(t, err)
					o, err := r.Wait(t.Context())
					Must(t, err)
					all := began.All()
					if d := o.Deliveries[0]; !d.Dead || d.Reason != "max_attempts" || d.Failures != 2 || len(all) != 2 {
						t.Fatalf("the parent was called %d times, and the outcome is %+v", len(all), d)
					}
					if waited := all[1].Sub(all[0]); waited < time.Second || waited > 2*time.Second {
						t.Errorf("the second attempt came after %v, want the delay of the parent's policy", waited)
					}
				})
			})
		}
	}
}

// declinedChild publishes an order at once: the same one in each attempt.
func (f *Fixture) declinedChild(ctx context.Context) *runtime.Receipt {
	r, err := runtime.Publish(ctx, f.Bus, PlacedType, OrderPlaced{OrderID: "A"}, runtime.Immediately(), runtime.WithDedupeKey("child"))
	Must(f.T, err)
	return r
}

// The child cannot be decoded, and so is dead at once. That says nothing about the event of its parent.
func (env *Env) TestAChildThatCannotBeDecodedIsAnErrorOfItsParentLikeAnyOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.ReopenWith(t, env.Target(t), TrappedCatalogue)
		_, err := runtime.Subscribe(f.Bus, trappedHighType, "parent", func(ctx context.Context, _ runtime.Event[trapped]) error {
			r, err := runtime.Publish(ctx, f.Bus, trappedType, trapped{Trap: "panic in decode"}, runtime.Immediately())
			Must(t, err)
			o, err := r.Wait(ctx)
			Must(t, err)
			if d := o.Deliveries[0]; d.Reason != "decode" {
				t.Errorf("the child is %+v", d)
			}
			return o.Err()
		}, runtime.WithRetry(retry.MaxAttempts(2)))
		Must(t, err)
		Must(t, SubscribeTrapped(f.Bus, "one worker", func(int, int) {}))
		f.MustStart()
		r, err := runtime.Publish(t.Context(), f.Bus, trappedHighType, trapped{})
		Must(t, err)
		o, err := r.Wait(t.Context())
		Must(t, err)
		if d := o.Deliveries[0]; d.Reason != "max_attempts" || d.Failures != 2 {
			t.Errorf("the parent is %+v", d)
		}
	})
}

// What a handler says itself counts, also beside the error of another one, and around it.
func (env *Env) TestAHandlerSteersWithItsOwnWordsAroundTheErrorOfAnother(t *testing.T) {
	program := &askedError{"declined"}
	for name, test := range map[string]struct {
		returns func(o runtime.Outcome) error
		reason  string
	}{
		"permanent around it":      {func(o runtime.Outcome) error { return runtime.Permanent(o.Err()) }, "permanent"},
		"permanent beside it":      {func(o runtime.Outcome) error { return errors.Join(o.Err(), runtime.Permanent(ErrBoom)) }, "permanent"},
		"a class beside it":        {func(o runtime.Outcome) error { return errors.Join(o.Err(), program) }, "permanent"},
		"a class around it":        {func(o runtime.Outcome) error { return fmt.Errorf("%w: %w", program, o.Err()) }, "permanent"},
		"it, which has no class":   {func(o runtime.Outcome) error { return o.Err() }, "max_attempts"},
		"the program finds it in":  {func(o runtime.Outcome) error { return permanentIf(errors.Is(o.Err(), program), o.Err()) }, "permanent"},
		"a snooze inside of it":    {func(o runtime.Outcome) error { return errors.Join(o.Err(), runtime.Snooze(time.Second)) }, "max_snoozes"},
		"what the bus says itself": {func(o runtime.Outcome) error { return errors.Join(&runtime.DeadLetteredError{}) }, "max_attempts"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := env.Open(t)
				_, err := runtime.Subscribe(f.Bus, UserType, "parent", func(ctx context.Context, _ runtime.Event[UserCreated]) error {
					o, err := f.declinedChild(ctx).Wait(ctx)
					Must(t, err)
					return test.returns(o)
				}, runtime.WithRetry(retry.MaxAttempts(2)), runtime.WithMaxSnoozes(1), runtime.WithPermanentErrors(runtime.ErrorIs(program)))
				Must(t, err)
				f.Handle("child", func(context.Context, runtime.Event[OrderPlaced]) error { return runtime.Permanent(program) })
				f.MustStart()
				r, err := runtime.Publish(t.Context(), f.Bus, UserType, UserCreated{Name: "Ada"})
				Must(t, err)
				o, err := r.Wait(t.Context())
				Must(t, err)
				if d := o.Deliveries[0]; d.Reason != test.reason {
					t.Errorf("the parent is %+v, want %s", d, test.reason)
				}
			})
		})
	}
}

func permanentIf(yes bool, err error) error {
	if yes {
		return runtime.Permanent(err)
	}
	return err
}

// The parent fails with the error of its child, once in one life of the process and once in the next.
func (env *Env) TestTheErrorOfAChildMeansTheSameAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		program := &askedError{"declined"}
		var got Journal[error]
		subscribe := func(f *Fixture) {
			_, err := runtime.Subscribe(f.Bus, UserType, "parent", func(ctx context.Context, _ runtime.Event[UserCreated]) error {
				o, err := f.declinedChild(ctx).Wait(ctx)
				Must(t, err)
				got.Add(o.Err())
				return o.Err()
			}, runtime.WithRetry(retry.MaxAttempts(2), retry.BaseDelay(10*time.Second)), runtime.WithPermanentErrors(runtime.ErrorIs(program)))
			Must(t, err)
			f.Handle("child", func(context.Context, runtime.Event[OrderPlaced]) error { return runtime.Permanent(program) })
			f.MustStart()
		}
		f := env.Open(t)
		subscribe(f)
		_, err := runtime.Publish(t.Context(), f.Bus, UserType, UserCreated{Name: "Ada"})
		Must(t, err)
		time.Sleep(time.Second)
		f.Stop()
		f = env.Reopen(t, f.Path)
		subscribe(f)
		f.Idle()
		all := got.All()
		if len(all) != 2 {
			t.Fatalf("the parent was called %d times, want twice", len(all))
		}
		for i, err := range all {
			var of *runtime.HandlerError
			if !errors.As(err, &of) || of.Text != "declined" || of.Known != (i == 0) || errors.Is(err, program) != (i == 0) {
				t.Errorf("in life %d the parent got %#v", i+1, of)
			}
		}
		if all[0].Error() != all[1].Error() {
			t.Errorf("the errors are %q and %q", all[0], all[1])
		}
		for _, l := range env.Dead(t, f.Path) {
			if l.Subscription == "parent" && (l.Reason != "max_attempts" || l.Attempts[0].Error != l.Attempts[1].Error || l.Attempts[0].ErrorType != l.Attempts[1].ErrorType) {
				t.Errorf("the parent is dead with %s after %+v", l.Reason, l.Attempts)
			}
		}
	})
}

// Somebody cancels the child for which its parent waits.
func (env *Env) TestACancelledChildIsAnErrorThatSaysSo(t *testing.T) {
	for _, way := range []string{"Wait", "WaitTree", "Request", "Collect"} {
		t.Run(way, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := env.Open(t)
				var got Journal[error]
				_, err := runtime.Subscribe(f.Bus, UserType, "parent", func(ctx context.Context, _ runtime.Event[UserCreated]) error {
					var err error
					switch way {
					case "Wait":
						o, waitErr := f.declinedChild(ctx).Wait(ctx)
						Must(t, waitErr)
						if d := o.Deliveries[0]; !d.Cancelled || !d.Discarded || d.Dead || d.Reason != "cancelled" {
							t.Errorf("the outcome is %+v", o)
						}
						err = o.Err()
					case "WaitTree":
						o, waitErr := f.declinedChild(ctx).WaitTree(ctx)
						Must(t, waitErr)
						err = o.Err()
					case "Request":
						_, err = runtime.Request[int](ctx, f.Bus, PlacedType, OrderPlaced{})
					case "Collect":
						_, err = runtime.Collect[int](ctx, f.Bus, PlacedType, OrderPlaced{})
					}
					got.Add(err)
					return err
				}, runtime.WithRetry(retry.MaxAttempts(1)))
				Must(t, err)
				_, err = runtime.SubscribeAnswer(f.Bus, PlacedType, "child", func(context.Context, runtime.Event[OrderPlaced]) (int, error) {
					t.Error("the child is handled")
					return 0, nil
				})
				Must(t, err)
				Must(t, f.PauseSubscription(t.Context(), "child", ""))
				f.MustStart()
				_, err = runtime.Publish(t.Context(), f.Bus, UserType, UserCreated{Name: "Ada"})
				Must(t, err)
				time.Sleep(time.Second)
				var child uuid.UUID
				for e, err := range runtime.Find(t.Context(), f.Bus, PlacedType, runtime.Query{}) {
					Must(t, err)
					child = e.ID
				}
				Must(t, f.Cancel(t.Context(), child))
				time.Sleep(time.Second)
				if len(got.All()) != 1 {
					t.Error("the parent still waits, for the end of the pause")
				}
				Must(t, f.ResumeSubscription(t.Context(), "child"))
				f.Idle()
				var cancelled *runtime.CancelledError
				if all := got.All(); len(all) != 1 || !errors.As(all[0], &cancelled) || cancelled.ID != child ||
					len(cancelled.Subscriptions) != 1 || !strings.Contains(cancelled.Error(), "was cancelled, and was not handled by child") {
					t.Errorf("the parent got %v", all)
				}
				if l := env.Letter(t, f.Path); l.Subscription != "parent" {
					t.Errorf("the dead letter is %+v", l)
				}
			})
		})
	}
}

// What a handler discards by its own word is no error for those who wait, whatever it gives as reason.
func (env *Env) TestADiscardByTheHandlerIsNoErrorForThoseWhoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Handle("child", func(context.Context, runtime.Event[OrderPlaced]) error { return runtime.Discard("cancelled") })
		f.MustStart()
		o, err := f.Publish(1)[0].Wait(t.Context())
		Must(t, err)
		if d := o.Deliveries[0]; !d.Discarded || d.Cancelled || d.Reason != "cancelled by its handler" || o.Err() != nil {
			t.Errorf("the outcome is %+v, with the error %v", o, o.Err())
		}
	})
}
