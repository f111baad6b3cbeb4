package conformance

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/retry"
)

func (env *Env) TestASubscriptionSeesEventsInLogOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var seen Journal[int]
		f.Handle("reader", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			time.Sleep(time.Duration(e.Payload.Number%3) * time.Millisecond)
			seen.Add(e.Payload.Number)
			return nil
		})
		f.MustStart()
		f.Publish(Numbers(1, 600)...) // more than the window holds
		f.Idle()
		if got := seen.All(); !slices.Equal(got, Numbers(1, 600)) {
			t.Errorf("saw %v", got)
		}
	})
}

func (env *Env) TestAFailedEventIsRetriedAtTheTimesOfItsPolicy(t *testing.T) {
	for name, test := range map[string]struct {
		opts []runtime.SubscribeOption
		want []time.Duration // since publishing
	}{
		"the catalogue's policy": {nil, []time.Duration{0, time.Second, 3 * time.Second, 7 * time.Second}},
		"a capped exponential": {
			[]runtime.SubscribeOption{runtime.WithRetry(retry.MaxAttempts(5), retry.BaseDelay(20*time.Second))},
			[]time.Duration{0, 20 * time.Second, 50 * time.Second, 80 * time.Second, 110 * time.Second},
		},
		"linear": {
			[]runtime.SubscribeOption{runtime.WithRetry(retry.WithBackoff(retry.Linear), retry.BaseDelay(5*time.Second))},
			[]time.Duration{0, 5 * time.Second, 15 * time.Second, 30 * time.Second},
		},
		"no backoff": {
			[]runtime.SubscribeOption{runtime.WithRetry(retry.WithBackoff(retry.None), retry.MaxAttempts(3))},
			[]time.Duration{0, 0, 0},
		},
		"no retry": {
			[]runtime.SubscribeOption{runtime.WithRetry(retry.MaxAttempts(1))},
			[]time.Duration{0},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := env.Open(t)
				var times Journal[time.Duration]
				var attempts Journal[int]
				began := time.Now()
				f.Handle("failing", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
					times.Add(time.Since(began))
					attempts.Add(e.Attempt)
					return ErrBoom
				}, test.opts...)
				f.MustStart()
				began = time.Now()
				f.Publish(1)
				f.Idle()
				// A due time is stored in microseconds.
				got := times.All()
				for i := range got {
					got[i] = got[i].Round(time.Millisecond)
				}
				if !slices.Equal(got, test.want) {
					t.Errorf("executions at %v, want %v", got, test.want)
				}
				if want := Numbers(1, len(test.want)); !slices.Equal(attempts.All(), want) {
					t.Errorf("attempts %v, want %v", attempts.All(), want)
				}
			})
		})
	}
}

func (env *Env) TestAnEventIsDeadLetteredWithTheErrorOfEveryAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Handle("failing", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			time.Sleep(time.Millisecond)
			return fmt.Errorf("failure %d", e.Attempt)
		}, runtime.WithRetry(retry.MaxAttempts(3)))
		f.MustStart()
		receipt := f.Publish(1)[0]
		outcome, err := receipt.Wait(t.Context())
		Must(t, err)
		var dead *runtime.DeadLetteredError
		if err := outcome.Err(); !errors.As(err, &dead) || !strings.Contains(err.Error(), "by failing after 3 failed attempts (max_attempts): failure 3") {
			t.Errorf("the outcome is %v", outcome.Err())
		}
		letter := env.Letter(t, f.Path)
		if letter.EventID != receipt.ID || letter.Subscription != "failing" || letter.Reason != "max_attempts" || letter.Type != "order.placed" ||
			string(letter.Payload) != `{"order_id":"A","number":1,"weight":0}` || letter.DeadAt.IsZero() {
			t.Errorf("the dead letter is %+v", letter)
		}
		for i, a := range letter.Attempts {
			if a.Error != fmt.Sprintf("failure %d", i+1) || a.Kind != "error" || a.Ended.Sub(a.Started) != time.Millisecond {
				t.Errorf("attempt %d is %+v", i+1, a)
			}
		}
		if len(letter.Attempts) != 3 {
			t.Errorf("%d attempts are kept, want 3", len(letter.Attempts))
		}
	})
}

func (env *Env) TestAHandlerCanFailInManyWays(t *testing.T) {
	for name, test := range map[string]struct {
		handler runtime.Handler[OrderPlaced]
		kind    string
		message string
		stack   bool
	}{
		"it returns an error": {
			func(context.Context, runtime.Event[OrderPlaced]) error { return ErrBoom }, "error", "boom", false,
		},
		"it panics": {
			func(context.Context, runtime.Event[OrderPlaced]) error { panic("kaboom") }, "panic", "panic: kaboom", true,
		},
		"it panics with nil": {
			func(context.Context, runtime.Event[OrderPlaced]) error { panic(nil) }, "panic", "panic called with nil", true,
		},
		"it ends its goroutine": {
			func(context.Context, runtime.Event[OrderPlaced]) error { goruntime.Goexit(); return nil }, "goexit", "Goexit", true,
		},
		"it runs into its deadline": {
			func(ctx context.Context, _ runtime.Event[OrderPlaced]) error { <-ctx.Done(); return nil }, "timeout", "did not finish within 30s", false,
		},
		"it returns an error that cannot be printed": {
			func(context.Context, runtime.Event[OrderPlaced]) error { return (*brokenError)(nil) }, "error", "nil pointer of type *conformance.brokenError", false,
		},
		"it returns a very long error": {
			func(context.Context, runtime.Event[OrderPlaced]) error { return errors.New(strings.Repeat("x", 20000)) }, "error", "(3616 bytes more)", false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := env.Open(t)
				f.Handle("failing", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
					if e.Payload.Number == 2 {
						return nil
					}
					return test.handler(ctx, e)
				}, runtime.WithRetry(retry.MaxAttempts(2)))
				f.MustStart()
				f.Publish(1, 2)
				f.Idle()
				letter := env.Letter(t, f.Path)
				if len(letter.Attempts) != 2 {
					t.Fatalf("%d attempts, want 2", len(letter.Attempts))
				}
				for _, a := range letter.Attempts {
					if a.Kind != test.kind || !strings.Contains(a.Error, test.message) {
						t.Errorf("the attempt failed with %s: %s; want %s: %s", a.Kind, a.Error, test.kind, test.message)
					}
					if test.stack != strings.Contains(a.Stack, "TestAHandlerCanFailInManyWays") {
						t.Errorf("the stack is %q", a.Stack)
					}
				}
				if s := f.Stats().Subscriptions[0]; s.Handled != 1 || s.Failed != 2 || s.Retried != 1 || s.Dead != 1 {
					t.Errorf("the statistics are %+v", s)
				}
			})
		})
	}
}

type brokenError struct{ text string }

func (e *brokenError) Error() string { return e.text }

func (env *Env) TestAHandlerSeesItsDeadlineAndItsCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var cause error
		f.Handle("slow", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) != 2*time.Second {
				t.Errorf("the deadline is in %v, want 2s", time.Until(deadline))
			}
			<-ctx.Done()
			cause = context.Cause(ctx)
			return nil
		}, runtime.WithTimeout(2*time.Second), runtime.WithRetry(retry.MaxAttempts(1)))
		f.MustStart()
		f.Publish(1)
		f.Idle()
		synctest.Wait() // the disposition does not wait for the handler to return
		if !Is[*runtime.TimeoutError](cause) || !errors.Is(cause, context.DeadlineExceeded) {
			t.Errorf("the cause is %v", cause)
		}
	})
}

func (env *Env) TestAHandlerThatIgnoresItsContextIsLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		release := make(chan struct{})
		var seen Journal[int]
		var late error
		f.Handle("hanging", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			seen.Add(e.Payload.Number)
			if e.Payload.Number == 1 {
				<-release
				_, late = runtime.Publish(ctx, f.Bus, PaidType, OrderPaid{})
			}
			return nil
		}, runtime.WithTimeout(time.Second), runtime.WithRetry(retry.MaxAttempts(1)))
		f.MustStart()
		f.Publish(1, 2, 3)
		f.Idle()
		if got := seen.All(); !slices.Equal(got, Numbers(1, 3)) {
			t.Errorf("saw %v: a handler that hangs holds up the others", got)
		}
		if n := f.Stats().Subscriptions[0].Abandoned; n != 1 {
			t.Errorf("%d handlers are abandoned, want 1", n)
		}
		if letter := env.Letter(t, f.Path); letter.Attempts[0].Kind != "timeout" {
			t.Errorf("the attempt failed by %s, want timeout", letter.Attempts[0].Kind)
		}
		close(release)
		synctest.Wait()
		if !errors.Is(late, runtime.ErrAttemptOver) {
			t.Errorf("publishing after the deadline: %v, want ErrAttemptOver", late)
		}
		if s := f.Stats().Subscriptions[0]; s.Abandoned != 0 || s.Handled != 2 || s.Dead != 1 {
			t.Errorf("after the late return: %+v", s)
		}
	})
}

func (env *Env) TestAFailureOfOneSubscriptionDoesNotAffectAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var runs [3]atomic.Int64
		for i, failures := range []int{0, 2, 0} {
			f.Handle(fmt.Sprintf("subscription %d", i), func(_ context.Context, e runtime.Event[OrderPlaced]) error {
				runs[i].Add(1)
				if e.Attempt <= failures {
					return ErrBoom
				}
				return nil
			})
		}
		f.MustStart()
		f.Publish(Numbers(1, 100)...)
		f.Idle()
		if a, b, c := runs[0].Load(), runs[1].Load(), runs[2].Load(); a != 100 || b != 300 || c != 100 {
			t.Errorf("%d, %d, %d executions; want 100, 300, 100", a, b, c)
		}
	})
}

func (env *Env) TestAFailingEventDoesNotHoldUpOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var seen Journal[string]
		f.Handle("reader", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			seen.Add(fmt.Sprintf("%d.%d", e.Payload.Number, e.Attempt))
			if e.Payload.Number == 1 && e.Attempt == 1 {
				return ErrBoom
			}
			return nil
		})
		f.MustStart()
		f.Publish(1, 2, 3)
		f.Idle()
		if got, want := seen.All(), []string{"1.1", "2.1", "3.1", "1.2"}; !slices.Equal(got, want) {
			t.Errorf("saw %v, want %v", got, want)
		}
	})
}

func (env *Env) TestAPayloadThatDoesNotDecodeIsDeadLetteredAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		called := false
		f.Handle("reader", func(context.Context, runtime.Event[OrderPlaced]) error {
			called = true
			return nil
		})
		f.PublishRaw(PlacedType, `{"order_id":5}`)
		f.MustStart()
		f.Idle()
		letter := env.Letter(t, f.Path)
		if letter.Reason != "decode" || len(letter.Attempts) != 1 || string(letter.Payload) != `{"order_id":5}` ||
			!strings.Contains(letter.LastAttempt().Error, "does not fit") {
			t.Errorf("the dead letter is %+v", letter)
		}
		if called {
			t.Error("the handler was called")
		}
	})
}

func (env *Env) TestConcurrencyKeepsTheOrderWithinEachPartitionKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var mu sync.Mutex
		byKey := map[string][]int{}
		running, most := 0, 0
		f.Handle("parallel", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			mu.Lock()
			running++
			most = max(most, running)
			mu.Unlock()
			time.Sleep(time.Duration(1+e.Payload.Number*7%5) * time.Millisecond)
			mu.Lock()
			running--
			byKey[e.Payload.OrderID] = append(byKey[e.Payload.OrderID], e.Payload.Number)
			mu.Unlock()
			return nil
		}, runtime.WithConcurrency(4))
		f.MustStart()
		for i := range 700 {
			_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{OrderID: strconv.Itoa(i % 9), Number: i})
			Must(t, err)
		}
		f.Idle()
		total := 0
		for key, got := range byKey {
			total += len(got)
			if !slices.IsSorted(got) {
				t.Errorf("key %s saw %v", key, got)
			}
		}
		if total != 700 || most != 4 {
			t.Errorf("%d events handled, up to %d at once; want 700, 4", total, most)
		}
	})
}

func (env *Env) TestWithoutConcurrencyHandlersRunOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var running, most atomic.Int64
		f.Handle("one by one", func(context.Context, runtime.Event[OrderPlaced]) error {
			most.Store(max(most.Load(), running.Add(1)))
			time.Sleep(time.Millisecond)
			running.Add(-1)
			return nil
		})
		f.MustStart()
		f.Publish(Numbers(1, 50)...)
		f.Idle()
		if most.Load() != 1 {
			t.Errorf("%d handlers ran at once, want 1", most.Load())
		}
	})
}

func (env *Env) TestAHighPriorityOvertakesAndALowOneIsNotStarved(t *testing.T) {
	priorities := map[string]runtime.Priority{"job.low": runtime.PriorityLow, "job.normal": runtime.PriorityNormal, "job.high": runtime.PriorityHigh}
	types := map[string]*runtime.EventType[UserCreated]{}
	var all []runtime.Definition
	for name, p := range priorities {
		types[name] = runtime.Define(runtime.Spec[UserCreated]{Name: name, Settings: Within(time.Second, Exact()), Priority: p})
		all = append(all, types[name])
	}
	synctest.Test(t, func(t *testing.T) {
		bus, err := env.OpenBus(t.Context(), env.Target(t), runtime.NewCatalogue(all...))
		Must(t, err)
		defer bus.Shutdown(context.Background())
		var seen Journal[string]
		_, err = runtime.SubscribePattern(bus, "job.*", "jobs", func(_ context.Context, e runtime.Event[runtime.Raw]) error {
			seen.Add(e.Type)
			return nil
		})
		Must(t, err)
		for _, name := range []string{"job.low", "job.normal", "job.high"} {
			_, err := runtime.PublishBatch(t.Context(), bus, types[name], make([]UserCreated, 20))
			Must(t, err)
		}
		Must(t, bus.Start(t.Context()))
		Must(t, bus.WaitIdle(t.Context()))
		got := seen.All()
		if want := slices.Repeat([]string{"job.high"}, 8); !slices.Equal(got[:8], want) {
			t.Errorf("the first are %v, want high ones", got[:8])
		}
		if !slices.Equal(got[8:10], []string{"job.low", "job.normal"}) {
			t.Errorf("after eight high ones come %v, want one low and one normal", got[8:10])
		}
		for rank, higher := range map[string][]string{"job.normal": {"job.high"}, "job.low": {"job.high", "job.normal"}} {
			overtaken := 0
			for _, name := range got {
				switch {
				case name == rank:
					overtaken = 0
				case slices.Contains(higher, name):
					overtaken++
				}
				if overtaken > 8 {
					t.Errorf("more than eight have overtaken %s in a row: %v", rank, got)
					break
				}
			}
		}
		if len(got) != 60 {
			t.Errorf("%d were handled, want 60", len(got))
		}
	})
}

// Another process publishes, and nothing has told this one of it yet.
func (env *Env) TestWaitIdleWaitsForWhatAnotherProcessHasPublished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var seen Journal[int]
		f.Handle("ship", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			seen.Add(e.Payload.Number)
			return nil
		})
		f.MustStart()
		other := env.Reopen(t, f.Path, runtime.WithoutSchedules())
		f.Idle()
		for n := range 20 {
			time.Sleep(time.Duration(n*37) * time.Millisecond) // so that it comes anywhere between two looks
			other.Publish(n)
			f.Idle()
			if got := seen.All(); len(got) != n+1 {
				t.Fatalf("when WaitIdle returned %v were handled, want all up to %d", got, n)
			}
		}
	})
}
