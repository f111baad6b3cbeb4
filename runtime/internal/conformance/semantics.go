package conformance

import (
	"context"
	"errors"
	"log/slog"
	goruntime "runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/retry"
)

func (env *Env) TestACancelledPublishIsStoredExactlyIfItReturnsNil(t *testing.T) {
	f := env.Open(t)
	var mu sync.Mutex
	stored, refused := map[uuid.UUID]bool{}, 0
	var running sync.WaitGroup
	for range 16 {
		running.Go(func() {
			for n := range 40 {
				ctx, cancel := context.WithCancel(t.Context())
				go func() { // somewhere between before and after
					for range n {
						goruntime.Gosched()
					}
					cancel()
				}()
				receipt, err := runtime.Publish(ctx, f.Bus, PlacedType, OrderPlaced{Number: n})
				cancel()
				mu.Lock()
				switch {
				case err == nil:
					stored[receipt.ID] = true
				case errors.Is(err, context.Canceled):
					refused++
				default:
					t.Error(err)
				}
				mu.Unlock()
			}
		})
	}
	running.Wait()
	t.Logf("%d were stored and %d withdrawn", len(stored), refused)
	for _, e := range f.peek().events() {
		if !stored[e.ID] {
			t.Errorf("event %s is stored, and its publisher was told that it is not", e.ID)
		}
		delete(stored, e.ID)
	}
	if len(stored) > 0 {
		t.Errorf("%d events are not stored, and their publishers were told that they are", len(stored))
	}
}

func (env *Env) TestEverySubscriptionHasAPayloadOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var seen Journal[string]
		for _, name := range []string{"a", "b"} {
			_, err := runtime.SubscribePattern(f.Bus, "*", name, func(_ context.Context, e runtime.Event[runtime.Raw]) error {
				seen.Add(string(e.Payload))
				clear(e.Payload)
				if e.Attempt == 1 {
					return ErrBoom
				}
				return nil
			})
			Must(t, err)
		}
		f.MustStart()
		f.Publish(1)
		f.Idle()
		if len(seen.All()) != 4 {
			t.Errorf("%d executions, want 4", len(seen.All()))
		}
		for _, payload := range seen.All() {
			if payload != `{"order_id":"A","number":1,"weight":0}` {
				t.Errorf("a handler saw what another had done to the payload: %q", payload)
			}
		}
	})
}

func (env *Env) TestADeclaredSubscriptionGetsEventsFromBeforeItWasMade(t *testing.T) {
	invited := runtime.Define(runtime.Spec[UserCreated]{
		Name: "user.invited", Settings: Within(time.Second, Exact()),
		Subscriptions: []declare.Subscription{{Name: "welcome", Settings: Within(time.Second, Exact(retry.MaxAttempts(2)))}},
	})
	synctest.Test(t, func(t *testing.T) {
		bus, err := env.OpenBus(t.Context(), env.Target(t),
			runtime.NewCatalogue(invited), runtime.WithLogger(slog.New(slog.DiscardHandler)))
		Must(t, err)
		defer bus.Shutdown(context.Background())
		_, err = runtime.Publish(t.Context(), bus, invited, UserCreated{Name: "Ada"})
		Must(t, err)
		var seen Journal[string]
		_, err = runtime.Subscribe(bus, invited, "welcome", func(_ context.Context, e runtime.Event[UserCreated]) error {
			seen.Add(e.Payload.Name)
			if e.MaxAttempts != 2 {
				t.Errorf("%d attempts are allowed, want the 2 that are declared", e.MaxAttempts)
			}
			return nil
		})
		Must(t, err)
		Must(t, bus.Start(t.Context()))
		Must(t, bus.WaitIdle(t.Context()))
		if got := seen.All(); len(got) != 1 || got[0] != "Ada" {
			t.Errorf("saw %v, want Ada", got)
		}
	})
}

func (env *Env) TestAHandlerThatSucceedsAlthoughItIsInterruptedHasSucceeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Handle("reader", func(ctx context.Context, _ runtime.Event[OrderPlaced]) error {
			<-ctx.Done()
			return nil
		}, runtime.WithTimeout(time.Hour))
		f.MustStart()
		f.Publish(1)
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := f.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the shutdown returned %v", err)
		}
		if got := f.peek().statuses(); !slices.Equal(got, []string{event.StatusDone}) {
			t.Errorf("the event is %s, want done", got)
		}
	})
}

func (env *Env) TestCancellingTheContextOfStartStopsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var seen Journal[error]
		f.Handle("reader", func(ctx context.Context, _ runtime.Event[OrderPlaced]) error {
			time.Sleep(time.Second)
			seen.Add(ctx.Err())
			return nil
		})
		ctx, cancel := context.WithCancel(t.Context())
		Must(t, f.Start(ctx))
		f.Publish(1)
		synctest.Wait()
		cancel()
		f.Publish(2)
		f.Idle()
		if got := seen.All(); len(got) != 2 || got[0] != nil || got[1] != nil {
			t.Errorf("the handlers saw %v, want nil twice", got)
		}
	})
}

func (env *Env) TestEventsThatAHandlerPublishesElsewhereAreNotPartOfItsSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, other := env.Open(t), env.Open(t)
		f.Handle("failing", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			if _, err := runtime.Publish(context.WithoutCancel(t.Context()), f.Bus, PaidType, OrderPaid{}); err != nil {
				t.Error(err)
			}
			if _, err := runtime.Publish(ctx, other.Bus, PaidType, OrderPaid{}); err != nil {
				t.Error(err)
			}
			if n := len(f.peek().events("order.paid")); n != 1 {
				t.Errorf("%d events are stored while the handler runs, want 1", n)
			}
			return ErrBoom
		}, runtime.WithRetry(retry.MaxAttempts(1)))
		f.MustStart()
		f.Publish(1)
		f.Idle()
		for name, bus := range map[string]*Fixture{"the bus of the handler": f, "another bus": other} {
			if n := len(bus.peek().events("order.paid")); n != 1 {
				t.Errorf("%s has %d events, want 1", name, n)
			}
		}
	})
}
