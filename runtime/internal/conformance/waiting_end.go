package conformance

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/retry"
)

func (env *Env) TestAParentWhoseTimeIsUpFreesTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var ran Journal[string]
		began := time.Now()
		note := func(what string) { ran.Add(fmt.Sprintf("%s %v", what, time.Since(began).Round(time.Second))) }
		var waited error
		f.Handle("one", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			note(fmt.Sprint(e.Payload.Number))
			if e.Payload.Number == 1 {
				r, err := runtime.Publish(ctx, f.Bus, PaidType, OrderPaid{}, runtime.Immediately())
				if err != nil {
					return err
				}
				_, waited = r.Wait(ctx)
				return waited
			}
			return nil
		}, runtime.WithTimeout(10*time.Second), runtime.WithRetry(retry.MaxAttempts(1)))
		// What the child has begun goes on.
		_, err := runtime.Subscribe(f.Bus, PaidType, "slow", func(ctx context.Context, _ runtime.Event[OrderPaid]) error {
			time.Sleep(20 * time.Second)
			note("slow")
			return nil
		})
		Must(t, err)
		f.Publish(1, 2)
		f.MustStart()
		f.Idle()
		ran.wants(t, "1 0s", "2 10s", "slow 20s")
		if !errors.Is(waited, context.DeadlineExceeded) {
			t.Errorf("the wait ended with %v", waited)
		}
	})
}

// A handler that is late and ignores its context is left behind as ever. Its child has no
// urgency any more, and runs in its turn.
func (env *Env) TestAParentThatIgnoresItsContextIsLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var ran Journal[string]
		began := time.Now()
		var fails error
		f.Handle("one", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			ran.Add(fmt.Sprintf("%d.%d %v", e.Payload.Number, e.Attempt, time.Since(began).Round(time.Second)))
			if e.Payload.Number == 10 {
				return fails
			}
			if e.Payload.Number == 1 {
				r := f.child(ctx, 10)
				r.Wait(context.WithoutCancel(ctx)) // ends with the attempt all the same
				time.Sleep(time.Minute)
			}
			return nil
		}, runtime.WithTimeout(10*time.Second), runtime.WithRetry(retry.MaxAttempts(2), retry.WithBackoff(retry.Constant), retry.BaseDelay(10500*time.Millisecond), retry.MaxDelay(time.Hour)))
		fails = ErrBoom
		f.Publish(1, 2)
		f.MustStart()
		time.Sleep(11 * time.Second)
		synctest.Wait()
		fails = nil
		f.Idle()
		time.Sleep(time.Minute) // for those that were left behind
		got := ran.All()
		if want := "[1.1 0s 10.1 0s 2.1 11s 10.2 11s"; !strings.HasPrefix(fmt.Sprint(got), want) {
			t.Errorf("ran %v, want %s …", got, want)
		}
	})
}

// Only the time of the wait is up, while the child runs in the parent's place.
func (env *Env) TestAWaitEndsWithItsContextAndTheChildGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var ran Journal[string]
		began := time.Now()
		note := func(n int, what string) {
			ran.Add(fmt.Sprintf("%d %s %v", n, what, time.Since(began).Round(time.Second)))
		}
		f.Handle("one", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			switch e.Payload.Number {
			case 1:
				r := f.child(ctx, 10)
				f.child(ctx, 11)
				short, cancel := context.WithTimeout(ctx, 2*time.Second)
				defer cancel()
				_, err := r.Wait(short)
				note(1, fmt.Sprint(err))
			case 10:
				time.Sleep(5 * time.Second)
			}
			note(e.Payload.Number, "ends")
			return nil
		})
		f.Publish(1, 2)
		f.MustStart()
		f.Idle()
		ran.wants(t, "1 context deadline exceeded 2s", "1 ends 2s", "10 ends 5s", "2 ends 5s", "11 ends 5s")
	})
}

func (env *Env) TestHandlersCannotWaitInACircle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var receipts [4]*runtime.Receipt
		var circle error
		var ids []uuid.UUID
		f.Handle("one", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			n := e.Payload.Number
			if n < 3 {
				receipts[n+1] = f.child(ctx, n+1)
				_, err := receipts[n+1].Wait(ctx)
				return err
			}
			_, circle = receipts[1].Wait(ctx)
			return nil
		})
		receipts[1] = f.Publish(1)[0]
		f.MustStart()
		f.Idle()
		for _, r := range receipts[1:] {
			ids = append(ids, r.ID)
		}
		cycle, ok := errors.AsType[*runtime.WaitCycleError](circle)
		if want := []uuid.UUID{ids[2], ids[0], ids[1], ids[2]}; !ok || !slices.Equal(cycle.Path, want) {
			t.Errorf("the last wait returned %v, want the circle %v", circle, want)
		}
		// Nobody waits any more.
		own := make(chan *runtime.Receipt, 1)
		Must(t, subscribe(f.Bus, "itself", func(ctx context.Context, e runtime.Event[UserCreated]) error {
			_, err := (<-own).Wait(ctx)
			if cycle, ok := errors.AsType[*runtime.WaitCycleError](err); !ok || !slices.Equal(cycle.Path, []uuid.UUID{e.ID, e.ID}) {
				t.Errorf("waiting for itself: %v", err)
			}
			return nil
		}))
		r, err := runtime.Publish(t.Context(), f.Bus, UserType, UserCreated{Name: "Ada"})
		Must(t, err)
		own <- r
		f.Idle()
	})
}

func subscribe(bus *runtime.Bus, name string, handler runtime.Handler[UserCreated], opts ...runtime.SubscribeOption) error {
	_, err := runtime.Subscribe(bus, UserType, name, handler, opts...)
	return err
}

func (env *Env) TestAShutdownEndsTheWaitsOfHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var waited Journal[error]
		handler := func(f *Fixture) runtime.Handler[OrderPlaced] {
			return func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
				if e.Payload.Number == 1 && e.Attempt == 1 {
					r, err := runtime.Publish(ctx, f.Bus, PaidType, OrderPaid{}, runtime.Immediately())
					if err != nil {
						return err
					}
					if _, err = r.Wait(ctx); err != nil {
						waited.Add(err)
						_, again := r.Wait(ctx)
						_, late := runtime.Publish(ctx, f.Bus, PaidType, OrderPaid{}, runtime.Immediately())
						waited.Add(again)
						waited.Add(late)
						return fmt.Errorf("no answer: %w", err)
					}
				}
				return nil
			}
		}
		f.Handle("one", handler(f), runtime.WithRetry(retry.MaxAttempts(1)))
		Must(t, f.declarePaid("somebody else"))
		f.MustStart()
		f.Publish(1)
		synctest.Wait()
		began := time.Now()
		f.Stop()
		if took := time.Since(began); took > time.Second/10 {
			t.Errorf("the shutdown took %v", took)
		}
		if got := waited.All(); len(got) != 3 || slices.ContainsFunc(got, func(err error) bool { return !errors.Is(err, runtime.ErrShutdown) }) {
			t.Errorf("the waits ended with %v", got)
		}
		f = env.Reopen(t, f.Path)
		var attempts Journal[string]
		f.Handle("one", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			attempts.Add(fmt.Sprintf("%d of %d", e.Attempt, e.MaxAttempts))
			return nil
		}, runtime.WithRetry(retry.MaxAttempts(1)))
		f.MustStart()
		f.Idle()
		attempts.wants(t, "2 of 2") // it does not count as a failed attempt
	})
}

// declarePaid makes a subscription to order.paid that nobody handles.
func (f *Fixture) declarePaid(name string) error {
	s, err := runtime.Subscribe(f.Bus, PaidType, name, func(context.Context, runtime.Event[OrderPaid]) error { return nil })
	if err != nil {
		return err
	}
	return s.Unsubscribe(f.T.Context())
}

func (env *Env) TestUnsubscribingEndsTheWaitsOfHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var waited error
		s := f.Handle("one", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			r, err := runtime.Publish(ctx, f.Bus, PaidType, OrderPaid{}, runtime.Immediately())
			if err != nil {
				return err
			}
			_, waited = r.Wait(ctx)
			return waited
		})
		Must(t, f.declarePaid("somebody else"))
		f.MustStart()
		f.Publish(1)
		synctest.Wait()
		Must(t, s.Unsubscribe(t.Context()))
		if !errors.Is(waited, runtime.ErrShutdown) {
			t.Errorf("the wait ended with %v", waited)
		}
	})
}

// Whatever a handler does while a goroutine of its own still waits, or a child does in the
// place of its parent, the subscription goes on with one handler at a time.
func (env *Env) TestHandlersThatEndInOddWaysGiveTheirPlacesBack(t *testing.T) {
	odd := map[string]func() error{
		"returns": func() error { return nil },
		"fails":   func() error { return ErrBoom },
		"panics":  func() error { panic("odd") },
		"exits":   func() error { goruntime.Goexit(); return nil },
		"hangs":   func() error { time.Sleep(time.Minute); return nil },
	}
	for name, end := range odd {
		for _, who := range []string{"parent", "child"} {
			t.Run("the "+who+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := env.Open(t)
					var ran Journal[int]
					running := 0
					f.Handle("one", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
						n := e.Payload.Number
						switch {
						case n == 1 && who == "parent":
							r, err := runtime.Publish(ctx, f.Bus, PaidType, OrderPaid{}, runtime.Immediately())
							if err != nil {
								return err
							}
							go r.Wait(ctx)
							time.Sleep(time.Second)
							return end()
						case n == 1:
							return f.askChild(ctx, 2)
						case n == 2:
							return end()
						}
						if running++; running > 1 {
							t.Errorf("%d runs beside another", n)
						}
						time.Sleep(time.Second)
						running--
						ran.Add(n)
						return nil
					}, runtime.WithTimeout(5*time.Second), runtime.WithRetry(retry.MaxAttempts(1)))
					_, err := runtime.Subscribe(f.Bus, PaidType, "slow", func(context.Context, runtime.Event[OrderPaid]) error {
						time.Sleep(20 * time.Second)
						return nil
					})
					Must(t, err)
					f.Publish(1, 100, 101, 102, 103)
					f.MustStart()
					f.Idle()
					time.Sleep(time.Minute) // for those that were left behind
					ran.wants(t, Numbers(100, 103)...)
				})
			})
		}
	}
}

func (env *Env) TestAPauseHoldsAwaitedEvents(t *testing.T) {
	for _, what := range []string{"subscription", "type"} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := env.Open(t)
				var ran Journal[string]
				began := time.Now()
				f.Handle("paid", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
					r, err := runtime.Publish(ctx, f.Bus, PaidType, OrderPaid{}, runtime.Immediately())
					if err != nil {
						return err
					}
					_, err = r.Wait(ctx)
					ran.Add(fmt.Sprintf("parent %v %v", err, time.Since(began).Round(time.Second)))
					return err
				})
				_, err := runtime.Subscribe(f.Bus, PaidType, "held", func(context.Context, runtime.Event[OrderPaid]) error {
					ran.Add(fmt.Sprintf("child %v", time.Since(began).Round(time.Second)))
					return nil
				})
				Must(t, err)
				f.MustStart()
				pause, resume := func() error { return f.PauseSubscription(t.Context(), "held", "") }, func() error { return f.ResumeSubscription(t.Context(), "held") }
				if what == "type" {
					pause, resume = func() error { return f.PauseTypes(t.Context(), "order.paid", "") }, func() error { return f.ResumeTypes(t.Context(), "order.paid") }
				}
				Must(t, pause())
				f.Publish(1)
				time.Sleep(10 * time.Second)
				Must(t, resume())
				f.Idle()
				ran.wants(t, "child 10s", "parent <nil> 10s")
			})
		})
	}
}

func (env *Env) TestAnOpenBreakerHoldsAwaitedEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.OpenFragile(t)
		var ran Journal[string]
		began := time.Now()
		note := func(what string) { ran.Add(fmt.Sprintf("%s %v", what, time.Since(began).Round(time.Second))) }
		handler := func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			n := e.Payload.Number
			note(fmt.Sprint(n))
			if n == 1 {
				return runtime.Permanent(ErrBoom)
			}
			if n < 10 {
				r, err := runtime.Publish(ctx, f.Bus, FragileType, OrderPlaced{OrderID: "B", Number: 10 + n}, runtime.Immediately())
				if err != nil {
					return err
				}
				_, err = r.Wait(ctx)
				note(fmt.Sprintf("%d ends %v", n, err))
				return err
			}
			return nil
		}
		_, err := runtime.Subscribe(f.Bus, FragileType, "fragile", handler, runtime.WithBreaker(breaker.MinSamples(1), breaker.OpenFor(time.Minute)))
		Must(t, err)
		f.Fragile(1, 3)
		f.MustStart()
		f.Idle()
		// Event 2 is the probe of the breaker, and lets its child be it.
		ran.wants(t, "1 0s", "2 1m0s", "12 1m0s", "2 ends <nil> 1m0s", "3 1m0s", "13 1m0s", "3 ends <nil> 1m0s")
	})
}

// A goroutine of the handler comes back from its wait while others of it begin to wait. The
// probe of the breaker is for what they wait for.
func (env *Env) TestAHandlerIsNoProbeWhileOneOfItsGoroutinesWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.ReopenWith(t, env.Target(t), runtime.NewCatalogue(FragileType, PaidType))
		var ran Journal[string]
		began := time.Now()
		note := func(what string) { ran.Add(fmt.Sprintf("%s %v", what, time.Since(began).Round(time.Second))) }
		long := runtime.WithTimeout(time.Hour)
		_, err := runtime.Subscribe(f.Bus, PaidType, "other", func(context.Context, runtime.Event[OrderPaid]) error {
			time.Sleep(time.Minute)
			return nil
		}, long)
		Must(t, err)
		_, err = runtime.Subscribe(f.Bus, FragileType, "first", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			if e.Payload.Number == 3 {
				time.Sleep(10 * time.Minute)
			}
			return nil
		}, runtime.InGroup("team"), long)
		Must(t, err)
		_, err = runtime.Subscribe(f.Bus, FragileType, "second", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			switch e.Payload.Number {
			case 3:
				note("3")
				return nil
			case 1:
				return runtime.Permanent(ErrBoom)
			}
			note("2")
			child, err := runtime.Publish(ctx, f.Bus, FragileType, OrderPlaced{OrderID: "A", Number: 3}, runtime.Immediately())
			Must(t, err)
			var goroutines sync.WaitGroup
			defer goroutines.Wait()
			goroutines.Go(func() {
				short, cancel := context.WithTimeout(ctx, time.Second)
				defer cancel()
				child.Wait(short) // so that it begins
			})
			goroutines.Go(func() {
				paid, err := runtime.Publish(ctx, f.Bus, PaidType, OrderPaid{}, runtime.Immediately())
				if err == nil {
					_, err = paid.Wait(ctx) // for a minute, and then for its place, which the child has
				}
				note(fmt.Sprintf("it goes on %v", err))
			})
			time.Sleep(2 * time.Minute)
			_, err = child.Wait(ctx)
			note(fmt.Sprintf("2 ends %v", err))
			return err
		}, runtime.InGroup("team"), runtime.WithBreaker(breaker.MinSamples(1), breaker.OpenFor(time.Minute)), long)
		Must(t, err)
		f.MustStart()
		f.Fragile(1, 1) // which opens the breaker of the second
		f.Idle()
		time.Sleep(time.Minute)
		f.Fragile(2, 2) // its probe
		f.Idle()
		ran.wants(t, "2 1m0s", "it goes on <nil> 3m0s", "3 11m0s", "2 ends <nil> 11m0s")
	})
}
