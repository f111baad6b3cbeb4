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
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/retry"
)

// looping lets a program live again and again that ends soon after its start, whatever it
// handles: each life lasts a few milliseconds. It returns the target that the last one leaves.
func (env *Env) looping(t *testing.T, lives int, target string, subscribe func(f *Fixture, handler runtime.Handler[OrderPlaced])) string {
	t.Helper()
	for range lives {
		f := env.Reopen(t, target)
		subscribe(f, Hang)
		f.MustStart()
		time.Sleep(3 * time.Millisecond)
		target = f.Killed()
	}
	return target
}

// deadLetters returns how many there are.
func (env *Env) deadLetters(t *testing.T, target string) int {
	t.Helper()
	inspector, err := env.OpenFile(t.Context(), target)
	Must(t, err)
	defer inspector.Close()
	letters, _, err := inspector.DeadLetters(t.Context(), event.Filter{}, event.Page{})
	Must(t, err)
	return len(letters)
}

// A port is in use: the program ends by itself a few milliseconds after each start, while
// handlers happen to run.
func (env *Env) TestACrashLoopMakesNoDeadLettersOfWhatHappensToRun(t *testing.T) {
	for _, concurrency := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			subscribe := func(f *Fixture, handler runtime.Handler[OrderPlaced]) {
				f.Handle("reader", handler, runtime.FromBeginning(), runtime.WithConcurrency(concurrency), runtime.WithRetry(retry.MaxAttempts(3)))
			}
			f := env.Open(t)
			subscribe(f, Hang)
			f.Publish(Numbers(1, 5)...)
			f.Stop()
			target := env.looping(t, 20, f.Path, subscribe)
			if dead := env.deadLetters(t, target); dead > 0 {
				t.Errorf("with concurrency %d %d of 5 events are dead", concurrency, dead)
			}
			// The port is free again.
			f = env.Reopen(t, target)
			var handled Journal[int]
			subscribe(f, func(_ context.Context, e runtime.Event[OrderPlaced]) error {
				handled.Add(e.Payload.Number)
				return nil
			})
			f.MustStart()
			inspector, err := env.OpenFile(t.Context(), target)
			Must(t, err)
			defer inspector.Close()
			if status, err := inspector.Status(t.Context()); err != nil || !status.CrashLoop {
				t.Errorf("the status says nothing of a crash loop: %v", err)
			}
			health := f.Health()
			if health.Healthy || health.CrashLoop.IsZero() {
				t.Errorf("the health is %+v, want that of a crash loop", health)
			}
			if !slices.ContainsFunc(f.Log.Level(t, "WARN"), func(l map[string]any) bool { return l["within"] != nil && l["until"] != nil }) {
				t.Error("the log does not say that deliveries wait")
			}
			f.Idle()
			got := handled.All()
			if slices.Sort(got); !slices.Equal(got, Numbers(1, 5)) {
				t.Errorf("afterwards %v are handled, want all", got)
			}
			time.Sleep(time.Minute)
			if health := f.Health(); !health.CrashLoop.IsZero() {
				t.Errorf("a minute later the health is %+v", health)
			}
			if status, err := inspector.Status(t.Context()); err != nil || status.CrashLoop {
				t.Errorf("a minute later the status says that there is a crash loop: %v", err)
			}
		})
	}
}

// Of events that must be tried only once, the first crash makes one a dead letter.
func (env *Env) TestACrashLoopMakesOneDeadLetterOfEventsThatAreTriedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		subscribe := func(f *Fixture, handler runtime.Handler[OrderPlaced]) {
			f.Handle("reader", handler, runtime.FromBeginning(), runtime.WithRetry(retry.MaxAttempts(1)))
		}
		f := env.Open(t)
		subscribe(f, Hang)
		f.Publish(Numbers(1, 5)...)
		f.Stop()
		target := env.looping(t, 10, f.Path, subscribe)
		f = env.Reopen(t, target)
		var handled atomic.Int32
		subscribe(f, func(context.Context, runtime.Event[OrderPlaced]) error { handled.Add(1); return nil })
		f.MustStart()
		f.Idle()
		if dead := env.deadLetters(t, target); dead != 1 || handled.Load() != 4 {
			t.Errorf("%d events are dead and %d are handled, want 1 and 4", dead, handled.Load())
		}
	})
}

// The keys of events are computed by the program before their turn: a process that ends meanwhile has ended with them.
func (env *Env) TestACrashLoopMakesNoDeadLettersOfEventsWhoseKeysHappenToBeComputed(t *testing.T) {
	for name, opts := range map[string][]runtime.SubscribeOption{
		"a partition key": {},
		"a strict order":  {runtime.WithStrictOrder()},
		"a limit key":     {limitedBy("one by order_id")},
	} {
		for attempts, most := range map[int]int{1: 1, 3: 0} {
			t.Run(fmt.Sprintf("%s, %d attempts", name, attempts), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					slow := func(p OrderPlaced) string { time.Sleep(50 * time.Millisecond); return p.OrderID }
					placed := runtime.Define(runtime.Spec[OrderPlaced]{
						Name: "order.placed", Settings: Within(30*time.Second, Exact(retry.MaxAttempts(attempts))),
						PartitionBy: slow, LimitKeys: map[string]func(OrderPlaced) string{"order_id": slow},
					})
					catalogue := runtime.NewCatalogue(placed).WithLimits(declare.Limit{Name: "one", AtOnce: 1})
					target := env.Target(t)
					var handled Journal[int]
					open := func() *Fixture {
						f := env.ReopenWith(t, target, catalogue)
						_, err := runtime.Subscribe(f.Bus, placed, "reader", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
							handled.Add(e.Payload.Number)
							return nil
						}, append(opts, runtime.WithConcurrency(4), runtime.FromBeginning())...)
						Must(t, err)
						return f
					}
					f := open()
					for n := range 5 {
						_, err := runtime.Publish(t.Context(), f.Bus, placed, OrderPlaced{OrderID: "A", Number: n})
						Must(t, err)
					}
					f.Stop()
					for range 20 {
						f := open()
						f.MustStart()
						time.Sleep(30 * time.Millisecond)
						target = f.Killed()
					}
					time.Sleep(time.Second) // what computed the keys ends
					f = open()
					f.MustStart()
					f.Idle()
					// An engine may not count a death in which only keys were computed.
					if got := env.deadLetters(t, target); got > most || len(handled.All()) != 5-got {
						t.Errorf("%d events are dead, want %d at most, and %v are handled", got, most, handled.All())
					}
					if name == "a strict order" && !slices.IsSorted(handled.All()) {
						t.Errorf("in a strict order %v are handled", handled.All())
					}
				})
			})
		}
	}
}

// What an event does to its process is found as soon as without the loop: it waits longer, and
// needs no more lives.
func (env *Env) TestAnEventThatEndsItsProcessAtOnceIsNoCrashLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const attempts = 3
		f := env.Open(t)
		target, deaths := f.Path, 0
		for lives := 0; lives < attempts+2; lives++ {
			if lives > 0 {
				f = env.Reopen(t, target)
			}
			dying := make(chan struct{}, 1)
			f.Handle("reader", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
				if e.Payload.Number == 3 {
					dying <- struct{}{}
					<-ctx.Done()
				}
				return ctx.Err()
			}, runtime.FromBeginning(), runtime.WithConcurrency(2), runtime.WithRetry(retry.MaxAttempts(attempts)))
			f.MustStart()
			if lives == 0 {
				f.Publish(Numbers(1, 5)...)
			}
			idle := make(chan error, 1)
			go func() { idle <- f.WaitIdle(context.Background()) }()
			select {
			case <-dying:
				deaths++
				target = f.Killed()
			case err := <-idle:
				Must(t, err)
				if dead := env.deadLetters(t, target); deaths != attempts || dead != 1 {
					t.Errorf("after %d deaths there are %d dead letters, want %d and 1", deaths, dead, attempts)
				}
				return
			}
		}
		t.Errorf("the event is not dead after %d deaths", deaths)
	})
}

// A shutdown ends a crash loop, and so does a process that lives.
func (env *Env) TestACrashLoopEndsWithAShutdownOrAProcessThatLives(t *testing.T) {
	for _, end := range []func(f *Fixture) string{
		func(f *Fixture) string { f.Stop(); return f.Path },
		func(f *Fixture) string { time.Sleep(time.Minute); return f.Killed() },
	} {
		synctest.Test(t, func(t *testing.T) {
			subscribe := func(f *Fixture, handler runtime.Handler[OrderPlaced]) {
				f.Handle("reader", handler, runtime.FromBeginning())
			}
			f := env.Open(t)
			subscribe(f, Hang)
			f.Publish(1)
			f.Stop()
			f = env.Reopen(t, env.looping(t, 2, f.Path, subscribe))
			subscribe(f, func(context.Context, runtime.Event[OrderPlaced]) error { return nil })
			f.MustStart()
			f = env.Reopen(t, end(f))
			subscribe(f, Hang)
			f.MustStart()
			if health := f.Health(); !health.CrashLoop.IsZero() {
				t.Errorf("the health is %+v", health)
			}
		})
	}
}

// The loop is one of the process. A subscription that was not handled since the death of one that ended young must not
// find it again, when another process has ended in order meanwhile.
func (env *Env) TestACrashLoopThatIsOverIsNotFoundByASubscriptionThatComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Handle("stays", Hang)
		f.Handle("comes back", Hang)
		f.MustStart()
		f.Publish(1)
		time.Sleep(time.Second)
		f = env.Reopen(t, f.Killed())
		f.journal("stays")
		f.MustStart()
		if f.Health().CrashLoop.IsZero() {
			t.Error("no crash loop is found after a process that died young")
		}
		f.Stop()
		f = env.Reopen(t, f.Path)
		f.journal("stays")
		f.journal("comes back")
		f.MustStart()
		if until := f.Health().CrashLoop; !until.IsZero() {
			t.Errorf("deliveries wait in a crash loop until %v, and there was a shutdown since", until)
		}
	})
}

// It goes on as well with a process that ends young and has handled nothing of the subscription that ran at first.
func (env *Env) TestACrashLoopGoesOnWhateverTheNextProcessHandles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.journal("first")
		f.Handle("second", Hang)
		f.MustStart()
		f.Publish(1)
		time.Sleep(time.Second)
		target := f.Killed()
		for range 3 {
			f = env.Reopen(t, target)
			f.journal("first")
			f.MustStart()
			if f.Health().CrashLoop.IsZero() {
				t.Error("no crash loop is found after processes that died young")
			}
			time.Sleep(time.Second)
			target = f.Killed()
		}
	})
}

// The ten seconds begin with the process, whatever it begins to handle later.
func (env *Env) TestAProcessThatHasLivedForLongIsNoCrashLoopWhateverItHasJustBegun(t *testing.T) {
	for _, before := range []time.Duration{8 * time.Second, time.Minute} {
		for _, others := range []bool{false, true} {
			t.Run(fmt.Sprintf("after %v, others before: %v", before, others), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := env.Open(t)
					if others {
						f.journal("other")
					}
					f.MustStart()
					time.Sleep(before)
					f.Handle("reader", Hang)
					f.Publish(1)
					time.Sleep(3 * time.Second)
					f = env.Reopen(t, f.Killed())
					f.journal("reader")
					f.MustStart()
					if until := f.Health().CrashLoop; !until.IsZero() {
						t.Errorf("deliveries wait in a crash loop until %v, after a process that has lived for %v", until, before+3*time.Second)
					}
				})
			})
		}
	}
}
