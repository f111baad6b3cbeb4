package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/retry"
)

// child publishes an order at once in a handler whose context is ctx.
func (f *Fixture) child(ctx context.Context, n int, opts ...runtime.PublishOption) *runtime.Receipt {
	f.T.Helper()
	r, err := runtime.Publish(ctx, f.Bus, PlacedType, OrderPlaced{OrderID: "A", Number: n}, append(opts, runtime.Immediately())...)
	if err != nil {
		f.T.Errorf("publishing %d in a handler: %v", n, err)
		panic(err)
	}
	return r
}

// askChild publishes an order at once in a handler and waits for it.
func (f *Fixture) askChild(ctx context.Context, n int) error {
	f.T.Helper()
	outcome, err := f.child(ctx, n).Wait(ctx)
	if err != nil {
		return err
	}
	return outcome.Err()
}

// wants fails the test unless the journal has these entries.
func (j *Journal[T]) wants(t *testing.T, want ...T) {
	t.Helper()
	if got := j.All(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the journal has\n%v\nwant\n%v", got, want)
	}
}

func (env *Env) TestAHandlerWaitsForAChildInItsOwnSubscription(t *testing.T) {
	for name, opts := range map[string][]runtime.SubscribeOption{
		"concurrency 1": nil,
		"strict":        {runtime.WithStrictOrder()},
		"in a group":    {runtime.InGroup("team")},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := env.Open(t)
				var ran Journal[string]
				f.Handle("one", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
					ran.Add(fmt.Sprint(e.Payload.Number, " starts"))
					defer func() { ran.Add(fmt.Sprint(e.Payload.Number, " ends")) }()
					time.Sleep(time.Second)
					if e.Payload.Number == 1 {
						return f.askChild(ctx, 10)
					}
					return nil
				}, opts...)
				f.Publish(1, 2, 3)
				f.MustStart()
				f.Idle()
				ran.wants(t, "1 starts", "10 starts", "10 ends", "1 ends", "2 starts", "2 ends", "3 starts", "3 ends")
			})
		})
	}
}

func (env *Env) TestHandlersWaitForEachOthersChildrenToAnyDepth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const depth = 20
		f := env.Open(t)
		var ran Journal[int]
		f.Handle("one", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			if e.Payload.Number < depth {
				if err := f.askChild(ctx, e.Payload.Number+1); err != nil {
					return err
				}
			}
			ran.Add(e.Payload.Number)
			return nil
		})
		f.Publish(1, 100)
		f.MustStart()
		f.Idle()
		want := Numbers(1, depth)
		slices.Reverse(want)
		ran.wants(t, append(want, 100)...)
	})
}

// The window of the subscription is full, and more is due than it can hold.
func (env *Env) TestAnAwaitedEventOvertakesEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var ran Journal[int]
		f.Handle("one", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			ran.Add(e.Payload.Number)
			if e.Payload.Number == 0 {
				return f.askChild(ctx, 5000)
			}
			if e.Payload.Number == 5000 && e.Attempt == 1 {
				return ErrBoom // the retry overtakes, too
			}
			return nil
		})
		f.Publish(Numbers(0, 1000)...)
		delayed := make([]OrderPlaced, 1000)
		for i := range delayed {
			delayed[i].Number = 7000
		}
		_, err := runtime.PublishBatch(t.Context(), f.Bus, PlacedType, delayed, runtime.WithDelay(time.Second))
		Must(t, err)
		time.Sleep(time.Second)
		f.MustStart()
		f.Idle()
		got := ran.All()
		at := slices.Index(got, 5000)
		if len(got) != 2003 || at < 0 || got[at-1] != 0 || got[at+1] != 5000 {
			t.Errorf("%d were handled, the awaited one %v", len(got), got[max(0, at-2):min(at+3, len(got))])
		}
	})
}

func (env *Env) TestAHandlerWaitsForAChildInOtherSubscriptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var ran Journal[string]
		_, err := runtime.Subscribe(f.Bus, UserType, "parents", func(ctx context.Context, e runtime.Event[UserCreated]) error {
			ran.Add("parent starts")
			defer ran.Add("parent ends")
			return f.askChild(ctx, 10)
		})
		Must(t, err)
		work := func(name string) runtime.Handler[OrderPlaced] {
			return func(_ context.Context, e runtime.Event[OrderPlaced]) error {
				time.Sleep(time.Second)
				ran.Add(fmt.Sprint(name, " ", e.Payload.Number))
				return nil
			}
		}
		f.Handle("left", work("left"))
		f.MustStart()
		f.Publish(Numbers(1, 3)...)
		time.Sleep(time.Second / 2) // 1 runs
		_, err = runtime.Publish(t.Context(), f.Bus, UserType, UserCreated{Name: "Ada"})
		Must(t, err)
		f.Idle()
		ran.wants(t, "parent starts", "left 1", "left 10", "parent ends", "left 2", "left 3")
	})
}

func (env *Env) TestAWaitingHandlerLendsItsPartitionKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var ran Journal[string]
		var mu sync.Mutex
		running := map[string]int{}
		enter := func(key string, by int) {
			mu.Lock()
			defer mu.Unlock()
			if running[key] += by; running[key] > 1 {
				t.Errorf("%d handlers of key %s run at once", running[key], key)
			}
		}
		// The child of each parent has the key of the other one.
		children := map[int]OrderPlaced{1: {OrderID: "B", Number: 10}, 2: {OrderID: "A", Number: 20}}
		f.Handle("keyed", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			enter(e.Payload.OrderID, 1)
			defer enter(e.Payload.OrderID, -1)
			ran.Add(fmt.Sprint(e.Payload.Number, " starts"))
			if time.Sleep(time.Second); e.Payload.Number == 20 {
				time.Sleep(2 * time.Second) // 1 has waited by then, and needs the key
			}
			if child, ok := children[e.Payload.Number]; ok {
				r, err := runtime.Publish(ctx, f.Bus, PlacedType, child, runtime.Immediately())
				if err != nil {
					return err
				}
				enter(e.Payload.OrderID, -1)
				_, err = r.Wait(ctx)
				enter(e.Payload.OrderID, 1)
				if err != nil {
					return err
				}
			}
			ran.Add(fmt.Sprint(e.Payload.Number, " ends"))
			return nil
		}, runtime.WithConcurrency(4))
		for _, p := range []OrderPlaced{{OrderID: "A", Number: 1}, {OrderID: "B", Number: 2}, {OrderID: "A", Number: 3}, {OrderID: "B", Number: 4}} {
			_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, p)
			Must(t, err)
		}
		f.MustStart()
		f.Idle()
		got := ran.All()
		if len(got) != 12 {
			t.Fatalf("ran %v", got)
		}
		for _, order := range [][]string{{"10 ends", "1 ends", "3 starts"}, {"20 ends", "2 ends", "4 starts"}} {
			last := -1
			for _, entry := range order {
				at := slices.Index(got, entry)
				if at < last {
					t.Errorf("%v are not in order in %v", order, got)
				}
				last = at
			}
		}
	})
}

func (env *Env) TestAwaitedEventsRunOnlyInPlacesThatAreFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var ran Journal[string]
		var mu sync.Mutex
		running := 0
		enter := func(by int) {
			mu.Lock()
			defer mu.Unlock()
			if running += by; running > 2 {
				t.Errorf("%d handlers run at once, want 2 at most", running)
			}
		}
		f.Handle("two", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			enter(1)
			defer enter(-1)
			if e.Payload.Number == 1 {
				var receipts []*runtime.Receipt
				for _, n := range Numbers(10, 14) {
					r, err := runtime.Publish(ctx, f.Bus, PlacedType, OrderPlaced{OrderID: fmt.Sprint(n), Number: n}, runtime.Immediately())
					if err != nil {
						return err
					}
					receipts = append(receipts, r)
				}
				for _, r := range receipts {
					enter(-1)
					_, err := r.Wait(ctx)
					enter(1)
					if err != nil {
						return err
					}
				}
			}
			time.Sleep(time.Second)
			ran.Add(fmt.Sprint(e.Payload.Number))
			return nil
		}, runtime.WithConcurrency(2))
		for _, n := range Numbers(1, 6) {
			_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{OrderID: fmt.Sprint("own ", n), Number: n})
			Must(t, err)
		}
		f.MustStart()
		f.Idle()
		if got := ran.All(); len(got) != 11 {
			t.Errorf("ran %v", got)
		}
	})
}

// What the handler waits for is handled elsewhere, and its place is used for another event
// when that ends.
func (env *Env) TestAHandlerComesBackWhenItsPlaceIsFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var ran Journal[string]
		began := time.Now()
		f.Handle("one", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			if e.Payload.Number == 10 {
				time.Sleep(5 * time.Second)
			} else {
				r, err := runtime.Publish(ctx, f.Bus, PaidType, OrderPaid{}, runtime.Immediately())
				if err != nil {
					return err
				}
				if _, err := r.Wait(ctx); err != nil {
					return err
				}
			}
			ran.Add(fmt.Sprintf("%d %v", e.Payload.Number, time.Since(began).Round(time.Second)))
			return nil
		})
		_, err := runtime.Subscribe(f.Bus, PaidType, "paid", func(context.Context, runtime.Event[OrderPaid]) error {
			time.Sleep(2 * time.Second)
			return nil
		})
		Must(t, err)
		Must(t, subscribe(f.Bus, "users", func(ctx context.Context, _ runtime.Event[UserCreated]) error { return f.askChild(ctx, 10) }))
		f.MustStart()
		f.Publish(1)
		time.Sleep(time.Second)
		_, err = runtime.Publish(t.Context(), f.Bus, UserType, UserCreated{Name: "Ada"})
		Must(t, err)
		f.Idle()
		ran.wants(t, "10 6s", "1 6s")
	})
}

func (env *Env) TestAChildThatRunsAlreadyIsNotRunTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var ran Journal[string]
		f.Handle("two", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			ran.Add(fmt.Sprintf("%d.%d", e.Payload.Number, e.Attempt))
			if e.Payload.Number == 1 {
				r, err := runtime.Publish(ctx, f.Bus, PlacedType, OrderPlaced{OrderID: "B", Number: 10}, runtime.Immediately())
				if err != nil {
					return err
				}
				time.Sleep(time.Second) // it runs by now
				_, err = r.Wait(ctx)
				ran.Add("1 ends")
				return err
			}
			time.Sleep(5 * time.Second)
			ran.Add(fmt.Sprint(e.Payload.Number, " ends"))
			return nil
		}, runtime.WithConcurrency(2))
		f.Publish(1)
		f.MustStart()
		f.Idle()
		ran.wants(t, "1.1", "10.1", "10 ends", "1 ends")
	})
}

func (env *Env) TestAHandlerWaitsInSeveralGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var ran Journal[int]
		f.Handle("one", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			time.Sleep(time.Duration(e.Payload.Number%10) * time.Second)
			if e.Payload.Number == 1 {
				var waiting sync.WaitGroup
				errs := make([]error, 4)
				for i := range errs {
					waiting.Go(func() { errs[i] = f.askChild(ctx, 10+i) })
				}
				waiting.Wait()
				if err := errors.Join(errs...); err != nil {
					return err
				}
			}
			ran.Add(e.Payload.Number)
			return nil
		})
		f.Publish(1, 2)
		f.MustStart()
		f.Idle()
		got := ran.All()
		slices.Sort(got[:4])
		if fmt.Sprint(got) != "[10 11 12 13 1 2]" {
			t.Errorf("ran %v", got)
		}
	})
}

func (env *Env) TestAHandlerWaitsForEventsThatItHasNotPublished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var ran Journal[int]
		var later *runtime.Receipt
		f.Handle("one", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			if e.Payload.Number == 1 {
				if _, err := later.Wait(ctx); err != nil {
					return err
				}
				other, err := runtime.Publish(context.Background(), f.Bus, PlacedType, OrderPlaced{Number: 10})
				if err != nil {
					return err
				}
				if _, err := other.Wait(ctx); err != nil {
					return err
				}
			}
			ran.Add(e.Payload.Number)
			return nil
		})
		later = f.Publish(1, 2, 3)[2]
		f.MustStart()
		f.Idle()
		ran.wants(t, 3, 10, 1, 2)
	})
}

func (env *Env) TestAnImmediateEventIsStoredWhateverBecomesOfTheHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t, runtime.WithMaxPending(1, runtime.Refuse))
		var ran Journal[string]
		var staged, late error
		var parent uuid.UUID
		over := make(chan struct{})
		f.Handle("one", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			ran.Add(fmt.Sprintf("%d.%d %s", e.Payload.Number, e.Attempt, e.CorrelationID))
			if e.Payload.Number != 1 {
				if e.ParentID != parent || e.PublishedBy != "one" || e.Hops != 1 {
					t.Errorf("the child was published by %s, for event %v, after %d hops", e.PublishedBy, e.ParentID, e.Hops)
				}
				return nil
			}
			parent = e.ID
			first := f.child(ctx, 10, runtime.WithDedupeKey("ten"))
			if first.Duplicate != (e.Attempt > 1) {
				t.Errorf("attempt %d: the receipt says Duplicate %v", e.Attempt, first.Duplicate)
			}
			r, err := runtime.Publish(ctx, f.Bus, PlacedType, OrderPlaced{Number: 20})
			if err != nil {
				return err
			}
			if _, staged = r.Wait(ctx); !errors.Is(staged, runtime.ErrStaged) || !strings.Contains(staged.Error(), "Immediately") {
				t.Errorf("waiting for a staged event: %v", staged)
			}
			if e.Attempt == 2 {
				go func() {
					defer close(over)
					time.Sleep(time.Minute)
					_, late = runtime.Publish(ctx, f.Bus, PlacedType, OrderPlaced{}, runtime.Immediately())
				}()
			}
			return ErrBoom
		}, runtime.WithRetry(retry.MaxAttempts(2)))
		_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{Number: 1}, runtime.WithCorrelationID("c"), runtime.Immediately())
		Must(t, err)
		f.MustStart()
		f.Idle()
		ran.wants(t, "1.1 c", "10.1 c", "1.2 c")
		select {
		case <-over:
			if !errors.Is(late, runtime.ErrAttemptOver) {
				t.Errorf("publishing after the attempt: %v", late)
			}
		case <-time.After(time.Hour):
			t.Error("the second attempt did not get so far")
		}
	})
}
