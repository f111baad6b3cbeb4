package conformance

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/retry"
)

// Handlers that wait for each other's events, with limits all the way.

func (env *Env) TestNestedEventsWithLimitsDoNotDeadlock(t *testing.T) {
	for name, all := range map[string]int{"limits": 100, "and one of all": 1, "and 2 of all": 2} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := env.Open(t,
					runtime.WithLimit(declare.Limit{Name: "a", AtOnce: 1}),
					runtime.WithLimit(declare.Limit{Name: "b", AtOnce: 2}),
					runtime.WithLimit(declare.Limit{Name: "c", AtOnce: 3}),
					runtime.WithLimit(declare.Limit{Name: "all", AtOnce: all}))
				var paid, users atomic.Int32
				// A waits for two Bs, each B for two Cs, each C for one more A, at another depth.
				f.Handle("a", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
					time.Sleep(time.Millisecond)
					if e.Payload.Number == 0 {
						return nil
					}
					return waitForBoth(ctx, func(ctx context.Context) (*runtime.Receipt, error) {
						return runtime.Publish(ctx, f.Bus, PaidType, OrderPaid{OrderID: fmt.Sprint(e.Payload.Number)}, runtime.Immediately())
					})
				}, runtime.WithConcurrency(2), limitedBy("a", "all"), runtime.WithRetry(retry.MaxAttempts(1)))
				_, err := runtime.Subscribe(f.Bus, PaidType, "b", func(ctx context.Context, e runtime.Event[OrderPaid]) error {
					if paid.Add(1); e.Attempt == 1 && paid.Load()%3 == 0 {
						return ErrBoom
					}
					return waitForBoth(ctx, func(ctx context.Context) (*runtime.Receipt, error) {
						return runtime.Publish(ctx, f.Bus, UserType, UserCreated{Name: e.Payload.OrderID}, runtime.Immediately())
					})
				}, limitedBy("b", "all"), runtime.WithTimeout(time.Hour), runtime.WithRetry(retry.MaxAttempts(2)))
				Must(t, err)
				f.handleUsers("c", func(ctx context.Context, e runtime.Event[UserCreated]) error {
					users.Add(1)
					r, err := runtime.Publish(ctx, f.Bus, PlacedType, OrderPlaced{OrderID: e.Payload.Name, Number: 0}, runtime.Immediately())
					if err != nil {
						return err
					}
					_, err = r.Wait(ctx)
					return err
				}, limitedBy("c", "all"), runtime.WithTimeout(time.Hour), runtime.WithRetry(retry.MaxAttempts(1)))
				began := time.Now()
				f.Publish(1, 2, 3, 4)
				f.MustStart()
				f.Idle()
				if users.Load() < 16 {
					t.Errorf("C has handled %d events", users.Load())
				}
				for _, s := range f.Stats().Subscriptions {
					if s.Dead > 0 || s.Timeouts > 0 {
						t.Errorf("%s: %+v", s.Name, s.Counts)
					}
				}
				if took := time.Since(began); took > 10*time.Minute {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

// waitForBoth publishes two events and waits for both at once.
func waitForBoth(ctx context.Context, publish func(ctx context.Context) (*runtime.Receipt, error)) error {
	one, err := publish(ctx)
	if err != nil {
		return err
	}
	two, err := publish(ctx)
	if err != nil {
		return err
	}
	both := make(chan error, 2)
	for _, r := range []*runtime.Receipt{one, two} {
		go func() {
			_, err := r.Wait(ctx)
			both <- err
		}()
	}
	return errors.Join(<-both, <-both)
}

func (env *Env) TestALimiterHoldsForHandlersAndAnyOtherCode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t, runtime.WithLimit(declare.Limit{Name: "mail", AtOnce: 2}))
		limiter, err := f.Limiter("mail")
		Must(t, err)
		var g gauge
		f.handleUsers("delivery", func(context.Context, runtime.Event[UserCreated]) error { g.work(); return nil }, runtime.WithConcurrency(4), limitedBy("mail"))
		f.handleUsers("inside", func(ctx context.Context, e runtime.Event[UserCreated]) error {
			return limiter.Do(ctx, func(context.Context) error { g.work(); return nil })
		}, runtime.WithConcurrency(4))
		f.users("a", "b", "c", "d")
		f.MustStart()
		ended := make(chan error, 4)
		for range 4 {
			go func() {
				ended <- limiter.Do(t.Context(), func(context.Context) error { g.work(); return ErrBoom })
			}()
		}
		f.Idle()
		for range 4 {
			if err := <-ended; err != ErrBoom {
				t.Errorf("Do has returned %v", err)
			}
		}
		if g.most.Load() != 2 {
			t.Errorf("%d were at work at once, want 2", g.most.Load())
		}
		_, err = f.Limiter("mial")
		if unknown, ok := errors.AsType[*runtime.UnknownLimitError](err); !ok || unknown.Closest != "mail" {
			t.Errorf("got %v", err)
		}
	})
}

func (env *Env) TestALimiterIsNotTakenTwiceByOneContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t, runtime.WithLimit(declare.Limit{Name: "mail", AtOnce: 1}), runtime.WithLimit(declare.Limit{Name: "rate", Rate: 1, Per: time.Hour}))
		mail, err := f.Limiter("mail")
		Must(t, err)
		rate, err := f.Limiter("rate")
		Must(t, err)
		nested := func(ctx context.Context) error {
			return mail.Do(ctx, func(ctx context.Context) error {
				return rate.Do(ctx, func(ctx context.Context) error {
					return mail.Do(ctx, func(ctx context.Context) error { return rate.Do(ctx, func(context.Context) error { return nil }) })
				})
			})
		}
		began := time.Now()
		f.handleUsers("one", func(ctx context.Context, e runtime.Event[UserCreated]) error { return nested(ctx) }, limitedBy("mail", "rate"))
		f.users("a")
		f.MustStart()
		f.Idle()
		if took := time.Since(began); took > time.Minute {
			t.Errorf("the handler took %v", took)
		}
		_, err = runtime.SubscribeBatch(f.Bus, UserType, "batch", func(ctx context.Context, _ []runtime.Event[UserCreated]) error { return nested(ctx) },
			limitedBy("mail", "rate"))
		Must(t, err)
		time.Sleep(time.Hour)
		f.users("b")
		f.Idle()
		time.Sleep(3 * time.Hour)
		Must(t, nested(t.Context()))
		// Another key is another limit, and another context does not hold it.
		taken, freed := make(chan struct{}), make(chan struct{})
		go mail.DoFor(t.Context(), "taken", func(context.Context) error { close(taken); <-freed; return nil })
		<-taken
		Must(t, mail.Do(t.Context(), func(ctx context.Context) error {
			nothing := func(context.Context) error { return nil }
			Must(t, mail.DoFor(ctx, "free", nothing))
			for key, outer := range map[string]context.Context{"": context.Background(), "taken": ctx} {
				limited, cancel := context.WithTimeoutCause(outer, time.Second, ErrBoom)
				defer cancel()
				if err := mail.DoFor(limited, key, nothing); err != ErrBoom {
					t.Errorf("key %q: got %v, want the cause of the context", key, err)
				}
			}
			return nil
		}))
		close(freed)
	})
}

func (env *Env) TestAHandlerThatWaitsInALimiterLendsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t, runtime.WithLimit(declare.Limit{Name: "mail", AtOnce: 1}), runtime.WithLimit(declare.Limit{Name: "all", AtOnce: 1}))
		mail, err := f.Limiter("mail")
		Must(t, err)
		var ran Journal[string]
		f.Handle("one", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			return mail.Do(ctx, func(ctx context.Context) error {
				ran.Add(fmt.Sprint(e.Payload.Number, " has it"))
				if e.Payload.Number < 3 {
					if err := f.askChild(ctx, e.Payload.Number+1); err != nil {
						return err
					}
				}
				ran.Add(fmt.Sprint(e.Payload.Number, " gives it back"))
				return nil
			})
		}, limitedBy("all"))
		f.Publish(1)
		f.MustStart()
		f.Idle()
		ran.wants(t, "1 has it", "2 has it", "3 has it", "3 gives it back", "2 gives it back", "1 gives it back")
		Must(t, mail.Do(t.Context(), func(context.Context) error { return nil }))
	})
}

// One goroutine of the handler waits already when the other one takes the limit.
func (env *Env) TestWhatAHandlerTakesWhileItWaitsIsLentToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t, runtime.WithLimit(declare.Limit{Name: "mail", AtOnce: 1}))
		mail, err := f.Limiter("mail")
		Must(t, err)
		wait := func(ctx context.Context, of string) error {
			r, err := runtime.Publish(ctx, f.Bus, PaidType, OrderPaid{OrderID: of}, runtime.Immediately())
			if err == nil {
				_, err = r.Wait(ctx)
			}
			return err
		}
		f.handleUsers("one", func(ctx context.Context, e runtime.Event[UserCreated]) error {
			first := make(chan error)
			go func() { first <- wait(ctx, "slow") }()
			time.Sleep(time.Second)
			err := mail.Do(ctx, func(ctx context.Context) error {
				defer time.Sleep(time.Second) // beside the first, which has lent what it has
				return wait(ctx, "quick")
			})
			return errors.Join(err, <-first)
		}, limitedBy("mail by name"), runtime.WithTimeout(10*time.Minute), runtime.WithRetry(retry.MaxAttempts(1)))
		_, err = runtime.Subscribe(f.Bus, PaidType, "two", func(ctx context.Context, e runtime.Event[OrderPaid]) error {
			if e.Payload.OrderID == "slow" {
				time.Sleep(time.Minute)
				return nil
			}
			return mail.Do(ctx, func(context.Context) error { return nil })
		}, runtime.WithConcurrency(2), runtime.WithTimeout(10*time.Minute))
		Must(t, err)
		f.users("a")
		f.MustStart()
		f.Idle()
		for _, s := range f.Stats().Subscriptions {
			if s.Handled == 0 || s.Failed > 0 {
				t.Errorf("%s: %+v", s.Name, s.Counts)
			}
		}
		Must(t, mail.Do(t.Context(), func(context.Context) error { return nil }))
	})
}

func (env *Env) TestALimiterIsFreeAgainHoweverItsFunctionEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t, runtime.WithLimit(declare.Limit{Name: "mail", AtOnce: 1}))
		mail, err := f.Limiter("mail")
		Must(t, err)
		ends := map[string]func(context.Context) error{
			"returns": func(context.Context) error { return nil },
			"panics":  func(context.Context) error { panic("boom") },
			"exits":   func(context.Context) error { goruntime.Goexit(); return nil },
			"is nil":  nil,
		}
		for name, end := range ends {
			done := make(chan struct{})
			go func() {
				defer close(done)
				defer func() { recover() }()
				if err := mail.Do(t.Context(), end); (err != nil) != (end == nil) {
					t.Errorf("one that %s: %v", name, err)
				}
			}()
			<-done
			Must(t, mail.Do(t.Context(), func(context.Context) error { return nil }))
		}
		// In handlers, too, and beside them when they are left behind.
		f.handleUsers("one", func(ctx context.Context, e runtime.Event[UserCreated]) error {
			if end := ends[e.Payload.Name]; end != nil {
				return mail.Do(ctx, end)
			}
			time.Sleep(time.Hour)
			return nil
		}, limitedBy("mail"), runtime.WithTimeout(time.Second), runtime.WithConcurrency(4))
		f.users("returns", "panics", "exits", "hangs")
		f.MustStart()
		f.Idle()
		time.Sleep(2 * time.Second) // until the last one is left behind
		Must(t, mail.Do(t.Context(), func(ctx context.Context) error {
			if err := inTime(mail, func(context.Context) error { return nil }); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v, want that of the context", err)
			}
			return nil
		}))
		time.Sleep(time.Hour)
		waits := make(chan error)
		go mail.Do(t.Context(), func(context.Context) error { time.Sleep(time.Minute); return nil })
		synctest.Wait()
		go func() {
			rate := context.Background()
			waits <- mail.Do(rate, func(context.Context) error { return nil })
		}()
		synctest.Wait()
		f.Stop()
		if err := <-waits; err != runtime.ErrShutdown {
			t.Errorf("a wait has ended with %v, want ErrShutdown", err)
		}
		if err := mail.Do(t.Context(), func(context.Context) error { return nil }); err != runtime.ErrShutdown {
			t.Errorf("after Shutdown: %v", err)
		}
		time.Sleep(time.Hour)
	})
}
