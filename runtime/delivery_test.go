package runtime_test

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

func TestASubscriptionSeesEventsInLogOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		var seen journal[int]
		f.handle("reader", func(_ context.Context, e runtime.Event[orderPlaced]) error {
			time.Sleep(time.Duration(e.Payload.Number%3) * time.Millisecond)
			seen.add(e.Payload.Number)
			return nil
		})
		f.start()
		f.publish(numbers(1, 600)...) // more than the window holds
		f.idle()
		if got := seen.all(); !slices.Equal(got, numbers(1, 600)) {
			t.Errorf("saw %v", got)
		}
	})
}

func TestAFailedEventIsRetriedAtTheTimesOfItsPolicy(t *testing.T) {
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
				f := open(t)
				var times journal[time.Duration]
				var attempts journal[int]
				began := time.Now()
				f.handle("failing", func(_ context.Context, e runtime.Event[orderPlaced]) error {
					times.add(time.Since(began))
					attempts.add(e.Attempt)
					return errBoom
				}, test.opts...)
				f.start()
				began = time.Now()
				f.publish(1)
				f.idle()
				// A due time is stored in microseconds.
				got := times.all()
				for i := range got {
					got[i] = got[i].Round(time.Millisecond)
				}
				if !slices.Equal(got, test.want) {
					t.Errorf("executions at %v, want %v", got, test.want)
				}
				if want := numbers(1, len(test.want)); !slices.Equal(attempts.all(), want) {
					t.Errorf("attempts %v, want %v", attempts.all(), want)
				}
			})
		})
	}
}

func TestAnEventIsDeadLetteredWithTheErrorOfEveryAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		f.handle("failing", func(_ context.Context, e runtime.Event[orderPlaced]) error {
			time.Sleep(time.Millisecond)
			return fmt.Errorf("failure %d", e.Attempt)
		}, runtime.WithRetry(retry.MaxAttempts(3)))
		f.start()
		receipt := f.publish(1)[0]
		outcome, err := receipt.Wait(t.Context())
		must(t, err)
		var dead *runtime.DeadLetteredError
		if err := outcome.Err(); !errors.As(err, &dead) || !strings.Contains(err.Error(), "by failing after 3 failed attempts (max_attempts): failure 3") {
			t.Errorf("the outcome is %v", outcome.Err())
		}
		letter := letter(t, f.path)
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

func TestAHandlerCanFailInManyWays(t *testing.T) {
	for name, test := range map[string]struct {
		handler runtime.Handler[orderPlaced]
		kind    string
		message string
		stack   bool
	}{
		"it returns an error": {
			func(context.Context, runtime.Event[orderPlaced]) error { return errBoom }, "error", "boom", false,
		},
		"it panics": {
			func(context.Context, runtime.Event[orderPlaced]) error { panic("kaboom") }, "panic", "panic: kaboom", true,
		},
		"it panics with nil": {
			func(context.Context, runtime.Event[orderPlaced]) error { panic(nil) }, "panic", "panic called with nil", true,
		},
		"it ends its goroutine": {
			func(context.Context, runtime.Event[orderPlaced]) error { goruntime.Goexit(); return nil }, "goexit", "Goexit", true,
		},
		"it runs into its deadline": {
			func(ctx context.Context, _ runtime.Event[orderPlaced]) error { <-ctx.Done(); return nil }, "timeout", "did not finish within 30s", false,
		},
		"it returns an error that cannot be printed": {
			func(context.Context, runtime.Event[orderPlaced]) error { return (*brokenError)(nil) }, "error", "nil pointer of type *runtime_test.brokenError", false,
		},
		"it returns a very long error": {
			func(context.Context, runtime.Event[orderPlaced]) error { return errors.New(strings.Repeat("x", 20000)) }, "error", "(3616 bytes more)", false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := open(t)
				f.handle("failing", func(ctx context.Context, e runtime.Event[orderPlaced]) error {
					if e.Payload.Number == 2 {
						return nil
					}
					return test.handler(ctx, e)
				}, runtime.WithRetry(retry.MaxAttempts(2)))
				f.start()
				f.publish(1, 2)
				f.idle()
				letter := letter(t, f.path)
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

func TestAHandlerSeesItsDeadlineAndItsCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		var cause error
		f.handle("slow", func(ctx context.Context, e runtime.Event[orderPlaced]) error {
			if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) != 2*time.Second {
				t.Errorf("the deadline is in %v, want 2s", time.Until(deadline))
			}
			<-ctx.Done()
			cause = context.Cause(ctx)
			return nil
		}, runtime.WithTimeout(2*time.Second), runtime.WithRetry(retry.MaxAttempts(1)))
		f.start()
		f.publish(1)
		f.idle()
		synctest.Wait() // the disposition does not wait for the handler to return
		if !is[*runtime.TimeoutError](cause) || !errors.Is(cause, context.DeadlineExceeded) {
			t.Errorf("the cause is %v", cause)
		}
	})
}

func TestAHandlerThatIgnoresItsContextIsLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		release := make(chan struct{})
		var seen journal[int]
		var late error
		f.handle("hanging", func(ctx context.Context, e runtime.Event[orderPlaced]) error {
			seen.add(e.Payload.Number)
			if e.Payload.Number == 1 {
				<-release
				_, late = runtime.Publish(ctx, f.Bus, paidType, orderPaid{})
			}
			return nil
		}, runtime.WithTimeout(time.Second), runtime.WithRetry(retry.MaxAttempts(1)))
		f.start()
		f.publish(1, 2, 3)
		f.idle()
		if got := seen.all(); !slices.Equal(got, numbers(1, 3)) {
			t.Errorf("saw %v: a handler that hangs holds up the others", got)
		}
		if n := f.Stats().Subscriptions[0].Abandoned; n != 1 {
			t.Errorf("%d handlers are abandoned, want 1", n)
		}
		if letter := letter(t, f.path); letter.Attempts[0].Kind != "timeout" {
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

func TestOneSubscriptionsFailureIsNotAnothers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		var runs [3]atomic.Int64
		for i, failures := range []int{0, 2, 0} {
			f.handle(fmt.Sprintf("subscription %d", i), func(_ context.Context, e runtime.Event[orderPlaced]) error {
				runs[i].Add(1)
				if e.Attempt <= failures {
					return errBoom
				}
				return nil
			})
		}
		f.start()
		f.publish(numbers(1, 100)...)
		f.idle()
		if a, b, c := runs[0].Load(), runs[1].Load(), runs[2].Load(); a != 100 || b != 300 || c != 100 {
			t.Errorf("%d, %d, %d executions; want 100, 300, 100", a, b, c)
		}
	})
}

func TestAFailingEventDoesNotHoldUpOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		var seen journal[string]
		f.handle("reader", func(_ context.Context, e runtime.Event[orderPlaced]) error {
			seen.add(fmt.Sprintf("%d.%d", e.Payload.Number, e.Attempt))
			if e.Payload.Number == 1 && e.Attempt == 1 {
				return errBoom
			}
			return nil
		})
		f.start()
		f.publish(1, 2, 3)
		f.idle()
		if got, want := seen.all(), []string{"1.1", "2.1", "3.1", "1.2"}; !slices.Equal(got, want) {
			t.Errorf("saw %v, want %v", got, want)
		}
	})
}

func TestAPayloadThatDoesNotDecodeIsDeadLetteredAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		called := false
		f.handle("reader", func(context.Context, runtime.Event[orderPlaced]) error {
			called = true
			return nil
		})
		f.publishRaw(placedType, `{"order_id":5}`)
		f.start()
		f.idle()
		letter := letter(t, f.path)
		if letter.Reason != "decode" || len(letter.Attempts) != 1 || string(letter.Payload) != `{"order_id":5}` ||
			!strings.Contains(letter.LastError(), "does not fit") {
			t.Errorf("the dead letter is %+v", letter)
		}
		if called {
			t.Error("the handler was called")
		}
	})
}

func TestConcurrencyKeepsTheOrderWithinEachPartitionKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		var mu sync.Mutex
		byKey := map[string][]int{}
		running, most := 0, 0
		f.handle("parallel", func(_ context.Context, e runtime.Event[orderPlaced]) error {
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
		f.start()
		for i := range 700 {
			_, err := runtime.Publish(t.Context(), f.Bus, placedType, orderPlaced{OrderID: strconv.Itoa(i % 9), Number: i})
			must(t, err)
		}
		f.idle()
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

func TestWithoutConcurrencyHandlersRunOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		var running, most atomic.Int64
		f.handle("one by one", func(context.Context, runtime.Event[orderPlaced]) error {
			most.Store(max(most.Load(), running.Add(1)))
			time.Sleep(time.Millisecond)
			running.Add(-1)
			return nil
		})
		f.start()
		f.publish(numbers(1, 50)...)
		f.idle()
		if most.Load() != 1 {
			t.Errorf("%d handlers ran at once, want 1", most.Load())
		}
	})
}

func TestAHighPriorityOvertakesAndALowOneIsNotStarved(t *testing.T) {
	priorities := map[string]runtime.Priority{"job.low": runtime.PriorityLow, "job.normal": runtime.PriorityNormal, "job.high": runtime.PriorityHigh}
	types := map[string]*runtime.EventType[userCreated]{}
	var all []runtime.AnyEventType
	for name, p := range priorities {
		types[name] = runtime.Define(runtime.Spec[userCreated]{Name: name, Settings: within(time.Second, exact()), Priority: p})
		all = append(all, types[name])
	}
	synctest.Test(t, func(t *testing.T) {
		bus, err := runtime.Open(t.Context(), t.TempDir()+"/events.db", runtime.NewCatalogue(all...))
		must(t, err)
		defer bus.Shutdown(context.Background())
		var seen journal[string]
		_, err = runtime.SubscribePattern(bus, "job.*", "jobs", func(_ context.Context, e runtime.Event[runtime.Raw]) error {
			seen.add(e.Type)
			return nil
		})
		must(t, err)
		for _, name := range []string{"job.low", "job.normal", "job.high"} {
			_, err := runtime.PublishBatch(t.Context(), bus, types[name], make([]userCreated, 20))
			must(t, err)
		}
		must(t, bus.Start(t.Context()))
		must(t, bus.WaitIdle(t.Context()))
		got := seen.all()
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
