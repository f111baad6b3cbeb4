package conformance

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
)

// gauge says how many are at work at once.
type gauge struct{ now, most atomic.Int32 }

// work is at work for a second.
func (g *gauge) work() {
	n := g.now.Add(1)
	for most := g.most.Load(); n > most && !g.most.CompareAndSwap(most, n); most = g.most.Load() {
	}
	time.Sleep(time.Second)
	g.now.Add(-1)
}

// users publishes one user.created for each name.
func (f *Fixture) users(names ...string) {
	f.T.Helper()
	for _, name := range names {
		_, err := runtime.Publish(f.T.Context(), f.Bus, UserType, UserCreated{Name: name})
		Must(f.T, err)
	}
}

// handleUsers subscribes to user.created.
func (f *Fixture) handleUsers(name string, handler runtime.Handler[UserCreated], opts ...runtime.SubscribeOption) *runtime.Subscription {
	f.T.Helper()
	s, err := runtime.Subscribe(f.Bus, UserType, name, handler, opts...)
	Must(f.T, err)
	return s
}

func limitedBy(uses ...string) runtime.SubscribeOption {
	var all []declare.LimitUse
	for _, use := range uses {
		name, by, _ := strings.Cut(use, " by ")
		all = append(all, declare.LimitUse{Limit: name, By: by})
	}
	return runtime.WithLimits(all...)
}

// occupy takes a place of a limit until free is called, or the test ends.
func (f *Fixture) occupy(name, key string) (free func()) {
	f.T.Helper()
	limiter, err := f.Limiter(name)
	Must(f.T, err)
	taken, freed := make(chan struct{}), make(chan struct{})
	go limiter.DoFor(context.Background(), key, func(context.Context) error { close(taken); <-freed; return nil })
	<-taken
	free = sync.OnceFunc(func() { close(freed) })
	f.T.Cleanup(free)
	return free
}

func (env *Env) TestSubscriptionsShareALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t, runtime.WithLimit(declare.Limit{Name: "mail", AtOnce: 3}))
		var g gauge
		handler := func(context.Context, runtime.Event[UserCreated]) error { g.work(); return nil }
		f.handleUsers("one", handler, runtime.WithConcurrency(8), limitedBy("mail"))
		f.handleUsers("two", handler, runtime.WithConcurrency(8), limitedBy("mail"))
		f.users("a", "b", "c", "d", "e", "f")
		began := time.Now()
		f.MustStart()
		f.Idle()
		if took := time.Since(began); g.most.Load() != 3 || took.Round(time.Second) != 4*time.Second {
			t.Errorf("%d ran at once and it took %v, want 3 and 4s", g.most.Load(), took)
		}
	})
}

func (env *Env) TestALimitByAFieldIsOneForEachValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t, runtime.WithLimit(declare.Limit{Name: "customer", AtOnce: 1}))
		var ended Journal[string]
		began := time.Now()
		f.handleUsers("one", func(_ context.Context, e runtime.Event[UserCreated]) error {
			time.Sleep(time.Second)
			ended.Add(fmt.Sprint(e.Payload.Name, time.Since(began).Round(time.Second)))
			return nil
		}, runtime.WithConcurrency(2), limitedBy("customer by name"))
		f.users("a", "a", "a", "b", "b")
		f.MustStart()
		f.Idle()
		got := ended.All()
		slices.Sort(got)
		// What waits takes no place: b runs beside a from the beginning.
		if want := []string{"a1s", "a2s", "a3s", "b1s", "b2s"}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

func (env *Env) TestEventsOfAPartitionKeyKeepTheirOrderWithLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t, runtime.WithLimit(declare.Limit{Name: "mail", AtOnce: 2}), runtime.WithLimit(declare.Limit{Name: "order", AtOnce: 1}))
		for i, opts := range [][]runtime.SubscribeOption{
			{runtime.WithConcurrency(4), limitedBy("mail")},
			{runtime.WithConcurrency(4), limitedBy("mail", "order by order_id")},
			{limitedBy("mail")},
			{runtime.WithConcurrency(4), limitedBy("mail"), runtime.WithStrictOrder()},
		} {
			var seen Journal[string]
			f.Handle(fmt.Sprint("sub", i), func(_ context.Context, e runtime.Event[OrderPlaced]) error {
				time.Sleep(time.Second)
				seen.Add(fmt.Sprint(e.Payload.OrderID, e.Payload.Number))
				return nil
			}, opts...)
			t.Cleanup(func() {
				for _, key := range []string{"A", "B", "C"} {
					of := slices.DeleteFunc(seen.All(), func(s string) bool { return s[:1] != key })
					if want := []string{key + "1", key + "2", key + "3", key + "4"}; !slices.Equal(of, want) {
						t.Errorf("subscription %d has handled %v, want %v", i, of, want)
					}
				}
			})
		}
		for n := range 4 {
			for _, key := range []string{"A", "B", "C"} {
				_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{OrderID: key, Number: n + 1})
				Must(t, err)
			}
		}
		f.MustStart()
		f.Idle()
	})
}

// weighed has another field for limits than for its partition key: a second event of a key can have
// room that the first has not.
var weighed = runtime.Define(runtime.Spec[OrderPlaced]{
	Name: "order.placed", Settings: Within(30*time.Second, Exact()),
	PartitionBy: func(p OrderPlaced) string { return p.OrderID },
	LimitKeys:   map[string]func(OrderPlaced) string{"weight": func(p OrderPlaced) string { return fmt.Sprint(p.Weight) }},
})

// openWeighed opens a bus whose limit scales has no room for weight 1 for a minute.
func (env *Env) openWeighed(t *testing.T) *Fixture {
	t.Helper()
	f := env.ReopenWith(t, env.Target(t), runtime.NewCatalogue(weighed, UserType).WithLimits(declare.Limit{Name: "scales", AtOnce: 1}))
	f.weighFor(time.Minute)
	return f
}

// weighFor takes the place of weight 1 for some time.
func (f *Fixture) weighFor(d time.Duration) {
	f.T.Helper()
	scales, err := f.Limiter("scales")
	Must(f.T, err)
	go scales.DoFor(context.Background(), "1", func(context.Context) error { time.Sleep(d); return nil })
	synctest.Wait()
}

// weigh publishes an order.
func (f *Fixture) weigh(number int, order string, weight int, opts ...runtime.PublishOption) *runtime.Receipt {
	f.T.Helper()
	r, err := runtime.Publish(f.T.Context(), f.Bus, weighed, OrderPlaced{Number: number, OrderID: order, Weight: float64(weight)}, opts...)
	Must(f.T, err)
	return r
}

// handleWeighed subscribes to orders. Its deliveries need the limit scales by their weight.
func (f *Fixture) handleWeighed(name string, handler runtime.Handler[OrderPlaced], opts ...runtime.SubscribeOption) *runtime.Subscription {
	f.T.Helper()
	s, err := runtime.Subscribe(f.Bus, weighed, name, handler, append([]runtime.SubscribeOption{limitedBy("scales by weight")}, opts...)...)
	Must(f.T, err)
	return s
}

func (env *Env) TestALaterEventOfAKeyDoesNotOvertakeOneThatWaitsForALimit(t *testing.T) {
	for _, concurrency := range []int{1, 4} {
		synctest.Test(t, func(t *testing.T) {
			f := env.openWeighed(t)
			var seen Journal[int]
			f.handleWeighed("one", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
				seen.Add(e.Payload.Number)
				return nil
			}, runtime.WithConcurrency(concurrency))
			f.MustStart()
			for i, p := range []OrderPlaced{{OrderID: "A", Weight: 1}, {OrderID: "A", Weight: 2}, {OrderID: "B", Weight: 2}} {
				f.weigh(i+1, p.OrderID, int(p.Weight))
				time.Sleep(time.Second)
			}
			f.Idle()
			seen.wants(t, 3, 1, 2)
		})
	}
}

func (env *Env) TestALimitIsFreeBetweenTheAttemptsOfAnEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t, runtime.WithLimit(declare.Limit{Name: "mail", AtOnce: 1}))
		var ran Journal[string]
		began := time.Now()
		f.handleUsers("one", func(_ context.Context, e runtime.Event[UserCreated]) error {
			ran.Add(fmt.Sprintf("%s%d %v", e.Payload.Name, e.Attempt, time.Since(began).Round(time.Second)))
			switch {
			case e.Payload.Name == "a" && e.Attempt == 1:
				return ErrBoom
			case e.Payload.Name == "b":
				time.Sleep(4 * time.Second)
			}
			return nil
		}, runtime.WithConcurrency(4), limitedBy("mail"))
		f.users("a", "b", "c")
		f.MustStart()
		f.idleWithin(time.Hour)
		got := ran.All()
		slices.Sort(got) // at 4s, in whichever order
		if want := []string{"a1 0s", "a2 4s", "b1 0s", "c1 4s"}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

func (env *Env) TestALimitThatAllSubscriptionsNeedHoldsForEveryKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, all := env.Open(t, runtime.WithLimit(declare.Limit{Name: "all", AtOnce: 3})), limitedBy("all")
		var g gauge
		handler := func(context.Context, runtime.Event[UserCreated]) error { g.work(); return nil }
		f.handleUsers("one", handler, all, runtime.WithConcurrency(8))
		f.handleUsers("two", handler, all, runtime.WithConcurrency(8))
		f.handleUsers("", handler, all, runtime.WithConcurrency(8), runtime.Ephemeral())
		_, err := runtime.SubscribeBatch(f.Bus, UserType, "batches", func(context.Context, []runtime.Event[UserCreated]) error { g.work(); return nil },
			all, runtime.WithBatch(2, 0), runtime.WithConcurrency(4))
		Must(t, err)
		f.MustStart()
		f.users("a", "b", "c", "d", "e", "f")
		f.Idle()
		time.Sleep(time.Minute)
		if g.most.Load() != 3 {
			t.Errorf("%d ran at once, want 3", g.most.Load())
		}
		for _, s := range f.Stats().Subscriptions {
			if s.Handled != 6 {
				t.Errorf("%q has handled %d events", s.Name, s.Handled)
			}
		}
	})
}
