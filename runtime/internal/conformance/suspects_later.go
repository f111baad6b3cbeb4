package conformance

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/internal/testhook"
	"github.com/busgen/busgen/runtime/retry"
)

// shared returns a bus whose process was killed while a and b handled event 1, two minutes later. Event 1 has expired
// for a by then, which has not crashed alone: it is dead without an attempt on record, and a suspect.
func (env *Env) shared(t *testing.T) (f *Fixture, opts []runtime.SubscribeOption) {
	f = env.Open(t)
	opts = []runtime.SubscribeOption{runtime.WithExpiresAfter(time.Minute), runtime.WithRetry(retry.MaxAttempts(2)), runtime.WithoutTimeout()}
	f.Handle("a", Hang, opts...)
	f.Handle("b", Hang, runtime.WithoutTimeout())
	f.MustStart()
	f.Publish(1)
	time.Sleep(time.Second)
	f = env.Reopen(t, f.Killed())
	time.Sleep(2 * time.Minute)
	return f, opts
}

// A process ended while the handler ran, but that was not what its last attempt is known to have failed of.
func (env *Env) TestADeadLetterWhoseLastAttemptWasNoCrashIsACanaryAndRedriven(t *testing.T) {
	dies := map[string]func(*testing.T, *Journal[int]) *Fixture{
		"it ran beside others, and expired": func(t *testing.T, called *Journal[int]) *Fixture {
			f, opts := env.shared(t)
			f.Handle("a", func(_ context.Context, e runtime.Event[OrderPlaced]) error { called.Add(e.Attempt); return nil }, opts...)
			f.Handle("b", func(context.Context, runtime.Event[OrderPlaced]) error { return nil })
			return f
		},
		"it timed out, and was left behind": func(t *testing.T, called *Journal[int]) *Fixture {
			f := env.Open(t)
			stuck := make(chan struct{})
			t.Cleanup(func() { close(stuck) })
			opts := []runtime.SubscribeOption{runtime.WithTimeout(time.Second), runtime.WithRetry(retry.MaxAttempts(1))}
			f.Handle("a", func(context.Context, runtime.Event[OrderPlaced]) error { <-stuck; return nil }, opts...)
			f.MustStart()
			f.Publish(1)
			time.Sleep(20 * time.Second)
			f = env.Reopen(t, f.Killed())
			f.Handle("a", func(_ context.Context, e runtime.Event[OrderPlaced]) error { called.Add(e.Attempt); return nil }, opts...)
			return f
		},
	}
	for name, die := range dies {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var called Journal[int]
				f := die(t, &called)
				f.MustStart()
				time.Sleep(20 * time.Second)
				env.Letter(t, f.Path)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				counts, err := f.outside().Retry(ctx, inspect.Selection{Canary: 1})
				if err != nil || counts.Moved != 1 || len(called.All()) != 1 {
					t.Errorf("moved %+v, %v; the attempts %v were made", counts, err, called.All())
				}
			})
		})
		t.Run(name+", redriven", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var called Journal[int]
				f := die(t, &called)
				settings := PlacedType.Any().Settings()
				settings.Redrive = declare.Redrive{Every: time.Hour, Max: 1}
				Must(t, f.Tune(runtime.Tuning{Types: map[string]declare.Settings{"order.placed": settings}}))
				f.MustStart()
				time.Sleep(3 * time.Hour)
				if len(called.All()) != 1 {
					t.Errorf("the attempts %v were made, want one", called.All())
				}
			})
		})
	}
}

// It runs alone until its handler was called, whatever happens before that.
func (env *Env) TestASuspectStaysOneUntilItsHandlerIsCalled(t *testing.T) {
	var undecodable atomic.Bool
	again := func(f *Fixture) {
		_, err := f.outside().Retry(f.T.Context(), inspect.Selection{})
		Must(f.T, err)
	}
	for name, c := range map[string]struct {
		opts   []runtime.SubscribeOption
		happen func(f *Fixture) // to the suspect, before its handler could be called
		then   func(f *Fixture) // so that it is tried
	}{
		"it expires and is retried": {
			opts:   []runtime.SubscribeOption{runtime.WithExpiresAfter(6 * time.Hour)},
			happen: func(f *Fixture) { time.Sleep(7 * time.Hour); f.MustStart() },
			then:   again,
		},
		"it is not decoded and is retried": {
			happen: func(f *Fixture) { undecodable.Store(true); f.MustStart() },
			then:   func(f *Fixture) { undecodable.Store(false); again(f) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				undecodable.Store(false)
				placed := runtime.Define(runtime.Spec[OrderPlaced]{
					Name: "order.placed", Settings: PlacedType.Any().Settings(), Version: 2,
					Upcasts: []runtime.Upcast{runtime.UpcastFrom(1, func(p OrderPlaced) (OrderPlaced, error) {
						if undecodable.Load() {
							return p, ErrBoom
						}
						return p, nil
					})},
				})
				catalogue := runtime.NewCatalogue(placed, PaidType)
				open := func(target string, a, b runtime.Handler[OrderPlaced]) *Fixture {
					f := env.ReopenWith(t, target, catalogue)
					for name, handler := range map[string]runtime.Handler[OrderPlaced]{"a": a, "b": b} {
						opts := []runtime.SubscribeOption{runtime.WithoutTimeout()}
						if name == "a" {
							opts = append(opts, c.opts...)
						}
						_, err := runtime.Subscribe(f.Bus, placed, name, handler, opts...)
						Must(t, err)
					}
					return f
				}
				f := open(env.Target(t), Hang, Hang)
				f.MustStart()
				_, err := testhook.Append(t.Context(), f.Bus, "order.placed", 1, []byte(`{"order_id":"A","number":1,"weight":0}`))
				Must(t, err)
				time.Sleep(time.Second)
				busy, beside, handled := false, false, 0
				f = open(f.Killed(), func(context.Context, runtime.Event[OrderPlaced]) error {
					handled++
					beside = beside || busy
					return nil
				}, func(context.Context, runtime.Event[OrderPlaced]) error { return nil })
				_, err = runtime.Subscribe(f.Bus, PaidType, "paid", func(context.Context, runtime.Event[OrderPaid]) error {
					busy = true
					time.Sleep(4 * time.Hour)
					busy = false
					return nil
				}, runtime.WithoutTimeout())
				Must(t, err)
				c.happen(f)
				time.Sleep(time.Minute)
				if handled != 0 {
					t.Fatal("the handler was called too early")
				}
				_, err = runtime.Publish(t.Context(), f.Bus, PaidType, OrderPaid{})
				Must(t, err)
				time.Sleep(time.Minute)
				c.then(f)
				f.Idle()
				if beside || handled != 1 {
					t.Errorf("the suspect was handled %d times, beside another handler: %v", handled, beside)
				}
			})
		})
	}
}

// Its count begins anew: the crash with others from before it was retried does not count with the next one.
func (env *Env) TestACrashWithOthersFromBeforeARetryDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, opts := env.shared(t)
		f.Handle("a", Hang, opts...)
		f.MustStart()
		time.Sleep(20 * time.Second)
		_, err := f.outside().Retry(t.Context(), inspect.Selection{})
		Must(t, err)
		time.Sleep(5 * time.Second)
		f = env.Reopen(t, f.Killed())
		var seen Journal[string]
		f.Handle("a", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			seen.Add(fmt.Sprintf("%d/%d", e.Attempt, e.MaxAttempts))
			return nil
		}, opts...)
		f.MustStart()
		time.Sleep(20 * time.Second)
		if all := seen.All(); !slices.Equal(all, []string{"3/3"}) {
			t.Errorf("called %v, want 3/3", all)
		}
	})
}

// The last attempt that counts was a crash. Since then the handler was called, and has put the event off.
func (env *Env) TestAnEventIsNotDeadOfACrashAfterItWasSnoozed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Handle("reader", Hang, runtime.WithRetry(retry.MaxAttempts(2)))
		f.MustStart()
		f.Publish(1)
		f = env.Reopen(t, f.Killed())
		f.Handle("reader", func(context.Context, runtime.Event[OrderPlaced]) error { return runtime.Snooze(time.Hour) }, runtime.WithRetry(retry.MaxAttempts(2)))
		f.MustStart()
		time.Sleep(time.Minute)
		f.Stop()
		f = env.Reopen(t, f.Path)
		called := 0
		f.Handle("reader", func(context.Context, runtime.Event[OrderPlaced]) error { called++; return nil }, runtime.WithRetry(retry.MaxAttempts(1)))
		f.MustStart()
		time.Sleep(3 * time.Hour)
		if s := f.Stats().Subscriptions[0]; called != 1 || s.Dead != 0 {
			t.Errorf("the handler was called %d times, and %d are dead", called, s.Dead)
		}
	})
}

// After a crash it is the policy of the subscription that counts, not that for the class of the error before it.
func (env *Env) TestACrashEndsThePolicyOfAnErrorsClass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var seen Journal[string]
		subscribe := func(ends error) {
			f.Handle("a", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
				seen.Add(fmt.Sprintf("%d/%d", e.Attempt, e.MaxAttempts))
				if e.Attempt == 2 {
					<-ctx.Done()
				}
				return ends
			}, runtime.WithRetry(retry.MaxAttempts(5), retry.BaseDelay(time.Second)), runtime.WithErrorRetry(runtime.ErrorIs(ErrBoom), retry.MaxAttempts(20), retry.BaseDelay(time.Second)))
		}
		subscribe(ErrBoom)
		f.MustStart()
		f.Publish(1)
		time.Sleep(5 * time.Second)
		f = env.Reopen(t, f.Killed())
		subscribe(nil)
		f.MustStart()
		f.Idle()
		if all, want := seen.All(), []string{"1/5", "2/20", "3/5"}; !slices.Equal(all, want) {
			t.Errorf("called %v, want %v", all, want)
		}
	})
}

// stuck is a handler that ignores its context, until the test ends.
func stuck(t *testing.T) runtime.Handler[OrderPlaced] {
	end := make(chan struct{})
	t.Cleanup(func() { close(end) })
	return func(context.Context, runtime.Event[OrderPlaced]) error { <-end; return nil }
}

// Of the crashes with others only the one that has made it a suspect counts. The second one happens beside a handler
// that was left behind.
func (env *Env) TestOfTheCrashesOfASuspectWithOthersOnlyTheFirstCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		left := func(f *Fixture) {
			f.Handle("left", stuck(t), runtime.WithTimeout(time.Second), runtime.WithRetry(retry.MaxAttempts(1)))
		}
		opts := []runtime.SubscribeOption{runtime.WithoutTimeout(), runtime.WithRetry(retry.MaxAttempts(4))}
		left(f)
		f.Handle("reader", Hang, opts...)
		f.MustStart()
		f.Publish(1)
		f = env.Reopen(t, f.Killed())
		left(f)
		f.Handle("reader", Hang, opts...)
		Must(t, f.PauseSubscription(t.Context(), "reader", ""))
		f.MustStart()
		time.Sleep(time.Minute)
		Must(t, f.ResumeSubscription(t.Context(), "reader"))
		time.Sleep(time.Minute)
		f = env.Reopen(t, f.Killed())
		f.Handle("reader", Hang, opts...)
		f.MustStart()
		time.Sleep(time.Minute)
		f = env.Reopen(t, f.Killed()) // alone
		f.Handle("reader", Hang, opts...)
		f.MustStart()
		crashes := 0
		for _, failed := range f.peek().failures() {
			if failed.Kind == "crash" {
				crashes++
			}
		}
		if crashes != 2 {
			t.Errorf("%d crashes are on record as attempts, want the first one and the last one", crashes)
		}
	})
}

// The event is dead when the handler of its last attempt, which was left behind, ends the process.
func (env *Env) TestADeadLetterWhoseHandlerIsStillRunningAtACrashIsASuspect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		opts := []runtime.SubscribeOption{runtime.WithTimeout(time.Second), runtime.WithRetry(retry.MaxAttempts(1))}
		f.Handle("reader", stuck(t), opts...)
		f.MustStart()
		f.Publish(1)
		time.Sleep(20 * time.Second)
		f = env.Reopen(t, f.Killed())
		busy, beside := false, true
		f.Handle("reader", func(context.Context, runtime.Event[OrderPlaced]) error { beside = busy; return nil }, opts...)
		_, err := runtime.Subscribe(f.Bus, PaidType, "paid", func(context.Context, runtime.Event[OrderPaid]) error {
			busy = true
			time.Sleep(time.Hour)
			busy = false
			return nil
		}, runtime.WithoutTimeout())
		Must(t, err)
		f.MustStart()
		_, err = runtime.Publish(t.Context(), f.Bus, PaidType, OrderPaid{})
		Must(t, err)
		time.Sleep(time.Minute)
		_, err = f.outside().Retry(t.Context(), inspect.Selection{})
		Must(t, err)
		f.Idle()
		if beside {
			t.Error("it runs beside another handler")
		}
	})
}

func (env *Env) TestAHandlerThatWaitedForAnotherAtACrashIsNotReportedAsInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open := func(target string, child runtime.Handler[OrderPaid]) *Fixture {
			f := env.Reopen(t, target)
			f.Handle("parent", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
				r, err := runtime.Publish(ctx, f.Bus, PaidType, OrderPaid{}, runtime.Immediately(), runtime.WithDedupeKey("child"))
				if err != nil {
					return err
				}
				outcome, err := r.Wait(ctx)
				if err != nil {
					return err
				}
				return outcome.Err()
			}, runtime.WithoutTimeout())
			_, err := runtime.Subscribe(f.Bus, PaidType, "child", child, runtime.WithoutTimeout())
			Must(t, err)
			f.MustStart()
			return f
		}
		f := open(env.Target(t), func(ctx context.Context, _ runtime.Event[OrderPaid]) error { <-ctx.Done(); return nil })
		f.Publish(1)
		time.Sleep(time.Second)
		f = open(f.Killed(), func(context.Context, runtime.Event[OrderPaid]) error { return nil })
		f.Idle()
		if r := f.Stats().Recovery; r.Interrupted != 1 {
			t.Errorf("recovered %+v, want the child alone", r)
		}
	})
}
