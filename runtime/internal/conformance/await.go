package conformance

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime"
)

// number returns a function that matches the order with a number.
func number(n int) func(runtime.Event[OrderPlaced]) bool {
	return func(e runtime.Event[OrderPlaced]) bool { return e.Payload.Number == n }
}

// awaited is what Await has returned.
type awaited struct {
	event runtime.Event[OrderPlaced]
	err   error
}

// await calls Await on a goroutine of its own and returns when it waits.
func (f *Fixture) await(ctx context.Context, q runtime.Query, match func(runtime.Event[OrderPlaced]) bool) <-chan awaited {
	f.T.Helper()
	result := make(chan awaited, 1)
	go func() {
		event, err := runtime.Await(ctx, f.Bus, PlacedType, q, match)
		result <- awaited{event, err}
	}()
	synctest.Wait()
	return result
}

func (env *Env) TestAwaitReturnsTheFirstEventThatIsStoredAfterTheCallAndMatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Publish(1, 2)
		any, second := f.await(t.Context(), runtime.Query{}, nil), f.await(t.Context(), runtime.Query{}, number(2))
		_, err := runtime.Publish(t.Context(), f.Bus, UserType, UserCreated{})
		Must(t, err)
		f.Publish(1)
		if got := <-any; got.err != nil || got.event.Payload.Number != 1 {
			t.Errorf("Await without a function returned %+v, %v, want order 1", got.event, got.err)
		}
		synctest.Wait()
		if len(second) > 0 {
			t.Errorf("Await returned %+v, and the orders 1 and 2 before the call do not match", <-second)
		}
		receipt := f.Publish(2)[0]
		got := <-second
		if got.err != nil || got.event.ID != receipt.ID || got.event.Type != "order.placed" || got.event.Version != 1 || got.event.PublishedAt.IsZero() {
			t.Errorf("Await returned %+v, %v, want event %s", got.event, got.err, receipt.ID)
		}
	})
}

func (env *Env) TestAwaitSinceReturnsTheOldestEventThatMatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Publish(1)
		time.Sleep(time.Hour)
		since := time.Now()
		f.Publish(Numbers(2, 3000)...)
		for want, match := range map[int]func(runtime.Event[OrderPlaced]) bool{2: nil, 2999: number(2999)} {
			event, err := runtime.Await(t.Context(), f.Bus, PlacedType, runtime.Query{Since: since}, match)
			if err != nil || event.Payload.Number != want {
				t.Errorf("got %+v, %v, want order %d", event, err, want)
			}
		}
		waiting := f.await(t.Context(), runtime.Query{Since: since}, number(1))
		if len(waiting) > 0 {
			t.Fatalf("Await returned %+v, which was published before Since", <-waiting)
		}
		f.Publish(1)
		if got := <-waiting; got.err != nil {
			t.Error(got.err)
		}
	})
}

// Pruning leaves events out of the middle of the log.
func (env *Env) TestAwaitFindsAnEventBeforeAGapThatPruningHasLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t, runtime.WithRetention(time.Hour))
		f.Handle("worker", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			if e.Payload.Number == 1 {
				return runtime.Permanent(ErrBoom) // and so it is kept
			}
			return nil
		})
		f.MustStart()
		since := time.Now()
		f.Publish(Numbers(1, 9)...)
		time.Sleep(2 * time.Hour)
		f.Publish(10)
		if kept := numbers(t, runtime.Find(t.Context(), f.Bus, PlacedType, runtime.Query{})); slices.Contains(kept, 5) {
			t.Fatalf("nothing was pruned: the log has %v", kept)
		}
		waiting := f.await(t.Context(), runtime.Query{Since: since}, nil)
		if len(waiting) == 0 {
			t.Fatal("Await waits, and order 1 is in the log")
		}
		if got := <-waiting; got.err != nil || got.event.Payload.Number != 1 {
			t.Errorf("got %+v, %v, want order 1", got.event, got.err)
		}
	})
}

func (env *Env) TestAwaitChoosesByCorrelationID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		waiting := f.await(t.Context(), runtime.Query{CorrelationID: "trip"}, nil)
		f.Publish(1)
		_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{OrderID: "A", Number: 2}, runtime.WithCorrelationID("trip"))
		Must(t, err)
		if got := <-waiting; got.err != nil || got.event.Payload.Number != 2 || got.event.CorrelationID != "trip" {
			t.Errorf("got %+v, %v, want order 2", got.event, got.err)
		}
	})
}

// Each round has a hundred goroutines that publish and a hundred that await one of these
// events each, half of them on another bus, which is to the log what another process is.
func (env *Env) TestAwaitMissesNothingInTenThousandRacesWithPublish(t *testing.T) {
	const each = 100
	rounds := max(races.N()/each, 1)
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t, runtime.WithDurability(runtime.Normal))
		other := env.Reopen(t, f.Path, runtime.WithDurability(runtime.Normal))
		for round := range rounds {
			since := time.Now()
			var all sync.WaitGroup
			for i := range each {
				n, publishes, awaits := round*each+i, f, f
				if i%2 == 1 {
					awaits = other
				}
				if i%4 > 1 {
					publishes = other
				}
				all.Go(func() {
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					if _, err := runtime.Await(ctx, awaits.Bus, PlacedType, runtime.Query{Since: since}, number(n)); err != nil {
						t.Errorf("order %d: %v", n, err)
					}
				})
				all.Go(func() {
					if _, err := runtime.Publish(t.Context(), publishes.Bus, PlacedType, OrderPlaced{OrderID: "A", Number: n}); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			time.Sleep(2 * time.Minute) // the next round need not look at this one
		}
	})
}

func (env *Env) TestAwaitEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := runtime.Await(ctx, f.Bus, PlacedType, runtime.Query{}, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the error is %v", err)
		}
		f.Publish(1)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := runtime.Await(ended, f.Bus, PlacedType, runtime.Query{Since: time.Unix(0, 0)}, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("with a context that has ended, the error is %v", err)
		}
	})
}

func (env *Env) TestAwaitEndsWhenTheBusIsShutDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		inside := make(chan error, 1)
		f.Handle("waits", func(ctx context.Context, _ runtime.Event[OrderPlaced]) error {
			_, err := runtime.Await(ctx, f.Bus, PlacedType, runtime.Query{}, number(7))
			inside <- err
			return nil
		})
		f.MustStart()
		f.Publish(1)
		outside := f.await(t.Context(), runtime.Query{}, number(7))
		began := time.Now()
		f.Stop()
		if took := time.Since(began); took > time.Second {
			t.Errorf("the shutdown took %v, although Await ends with it", took)
		}
		if got := <-outside; !errors.Is(got.err, runtime.ErrShutdown) {
			t.Errorf("the error is %v", got.err)
		}
		if err := <-inside; !errors.Is(err, runtime.ErrShutdown) {
			t.Errorf("in a handler, the error is %v", err)
		}
		if _, err := runtime.Await(t.Context(), f.Bus, PlacedType, runtime.Query{}, nil); !errors.Is(err, runtime.ErrShutdown) {
			t.Errorf("after the shutdown, the error is %v", err)
		}
	})
}

func (env *Env) TestAMatchFunctionThatPanicsEndsAwaitWithAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		waiting := f.await(t.Context(), runtime.Query{}, func(runtime.Event[OrderPlaced]) bool { panic("what is this?") })
		receipt := f.Publish(1)[0]
		got := <-waiting
		var event *runtime.EventError
		var panicked *runtime.PanicError
		if !errors.As(got.err, &event) || event.ID != receipt.ID || !errors.As(got.err, &panicked) || panicked.Stack == "" {
			t.Errorf("the error is %v", got.err)
		}
	})
}

func (env *Env) TestAwaitPassesOverAnEventThatCannotBeDecoded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		waiting := f.await(t.Context(), runtime.Query{}, nil)
		f.PublishRaw(PlacedType, `{"number": "many"}`)
		f.Publish(1)
		if got := <-waiting; got.err != nil || got.event.Payload.Number != 1 {
			t.Errorf("got %+v, %v, want order 1", got.event, got.err)
		}
		if lines := f.Log.Level(t, "WARN"); len(lines) != 1 || lines[0]["type"] != "order.placed" {
			t.Errorf("the log has %v, want one warning about the event", lines)
		}
	})
}

func (env *Env) TestAwaitRefusesAQueryThatItCannotWaitFor(t *testing.T) {
	f := env.Open(t)
	for field, q := range map[string]runtime.Query{
		"Status": {Status: "done"}, "Until": {Until: time.Now()}, "Limit": {Limit: 1},
	} {
		_, err := runtime.Await(t.Context(), f.Bus, PlacedType, q, nil)
		if refused, ok := errors.AsType[*runtime.QueryError](err); !ok || refused.Field != field {
			t.Errorf("%s: the error is %v", field, err)
		}
	}
	unknown := runtime.Define(runtime.Spec[OrderPlaced]{Name: "order.unknown", Settings: Within(time.Second, Exact())})
	if _, err := runtime.Await(t.Context(), f.Bus, unknown, runtime.Query{ChildOf: uuid.New()}, nil); err == nil {
		t.Error("Await waits for a type that the catalogue of the bus does not have")
	}
}
