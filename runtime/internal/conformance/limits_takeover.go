package conformance

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/retry"
)

// What becomes of deliveries that wait for a limit when another process goes on, and
// after a crash.

// A standby has the same limit, with room.
func (env *Env) TestAStandbyTakesOverWhatWaitsForALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mail := runtime.WithLimit(declare.Limit{Name: "mail", AtOnce: 1})
		f := env.Open(t, mail)
		var first, second Journal[string]
		handler := func(ran *Journal[string]) runtime.Handler[OrderPlaced] {
			return func(_ context.Context, e runtime.Event[OrderPlaced]) error {
				ran.Add(fmt.Sprintf("%d.%d", e.Payload.Number, e.Attempt))
				return nil
			}
		}
		f.Handle("one", handler(&first), limitedBy("mail"), runtime.WithConcurrency(2))
		f.occupy("mail", "")
		f.MustStart()
		f.Publish(1, 2, 3)
		time.Sleep(time.Minute)
		standby := env.Reopen(t, f.Path, runtime.WithStandby(), mail)
		standby.Handle("one", handler(&second), limitedBy("mail"), runtime.WithConcurrency(2))
		started := make(chan error, 1)
		go func() { started <- standby.Start(context.Background()) }()
		time.Sleep(time.Minute)
		second.wants(t)
		f.Stop()
		Must(t, <-started)
		time.Sleep(time.Minute)
		first.wants(t)
		second.wants(t, "1.1", "2.1", "3.1")
		standby.hasRoom(t, "mail", "", 1)
	})
}

// One process is killed while some wait with their keys, behind others of these, and one waits for its retry.
func (env *Env) TestWaitingForALimitCountsNoAttemptWhenTheProcessIsKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.openWeighed(t)
		f.handleWeighed("one", func(context.Context, runtime.Event[OrderPlaced]) error { return ErrBoom },
			runtime.WithRetry(retry.BaseDelay(time.Hour), retry.MaxDelay(time.Hour)), runtime.WithConcurrency(4))
		f.MustStart()
		f.weigh(1, "A", 2) // fails
		time.Sleep(time.Second)
		f.occupy("scales", "2")
		f.weigh(2, "A", 1)
		f.weigh(3, "A", 3)
		f.weigh(4, "B", 2)
		time.Sleep(10 * time.Second)
		target := f.Killed()
		f = env.ReopenWith(t, target, runtime.NewCatalogue(weighed, UserType).WithLimits(declare.Limit{Name: "scales", AtOnce: 1}))
		var ran Journal[string]
		f.handleWeighed("one", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			ran.Add(fmt.Sprintf("%d.%d", e.Payload.Number, e.Attempt))
			return nil
		})
		f.MustStart()
		f.idleWithin(time.Hour)
		ran.wants(t, "2.1", "3.1", "4.1", "1.2")
	})
}

// crashed returns a bus that was killed while "one" handled orders 1 and 2 of the weights 1 and 2.
func (env *Env) crashed(t *testing.T, limits ...declare.Limit) *Fixture {
	t.Helper()
	catalogue := runtime.NewCatalogue(weighed, UserType).WithLimits(limits...)
	f := env.ReopenWith(t, env.Target(t), catalogue)
	f.handleWeighed("one", Hang, runtime.WithConcurrency(2))
	f.handleUsers("other", func(context.Context, runtime.Event[UserCreated]) error { return nil })
	f.MustStart()
	f.weigh(1, "A", 1)
	f.weigh(2, "B", 2)
	time.Sleep(time.Second)
	return env.ReopenWith(t, f.Killed(), catalogue)
}

// The suspect would have everything else wait for it.
func (env *Env) TestASuspectThatWaitsForALimitHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.crashed(t, declare.Limit{Name: "scales", AtOnce: 1})
		f.weighFor(time.Minute)
		var ran Journal[string]
		began := time.Now()
		f.handleWeighed("one", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			ran.Add(fmt.Sprintf("%d.%d %v", e.Payload.Number, e.Attempt, time.Since(began).Round(time.Second)))
			return nil
		}, runtime.WithConcurrency(2))
		f.handleUsers("other", func(_ context.Context, e runtime.Event[UserCreated]) error {
			ran.Add(fmt.Sprintf("%s %v", e.Payload.Name, time.Since(began).Round(time.Second)))
			return nil
		})
		f.MustStart()
		time.Sleep(10 * time.Second)
		f.users("a")
		f.weigh(3, "C", 3)
		f.idleWithin(5 * time.Minute)
		got := ran.All()
		slices.Sort(got[1:3])
		if want := []string{"2.2 0s", "3.1 10s", "a 10s", "1.2 1m0s"}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

// idleWithin is Idle for something that may be stuck.
func (f *Fixture) idleWithin(d time.Duration) {
	f.T.Helper()
	limited, cancel := context.WithTimeout(f.T.Context(), d)
	defer cancel()
	Must(f.T, f.WaitIdle(limited))
}
