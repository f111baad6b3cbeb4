package conformance

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/retry"
)

// breakers returns the state of the breaker of each subscription.
func (f *Fixture) breakers() string {
	var all []string
	for _, s := range f.Stats().Subscriptions {
		all = append(all, fmt.Sprintf("%s %s %d/%d", s.Name, s.Breaker.State, s.Breaker.Failures, s.Breaker.Samples))
	}
	return strings.Join(all, ", ")
}

// A group records a success for each member before the one that fails, and nothing for
// the members after it. The outcome of a retry replaces the earlier one.
func (env *Env) TestTheBreakerOfEachMemberRecordsItsOwnOutcomes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.ReopenWith(t, env.Target(t), builtin)
		var broken atomic.Bool
		broken.Store(true)
		member := func(name string, fails bool) {
			_, err := runtime.Subscribe(f.Bus, builtinType, name, func(context.Context, runtime.Event[OrderPlaced]) error {
				if fails && broken.Load() {
					return ErrBoom
				}
				return nil
			}, runtime.InGroup("members"))
			Must(t, err)
		}
		member("A", false)
		member("B", true)
		member("C", false)
		f.MustStart()
		f.builtin(1)
		for _, after := range []time.Duration{0, time.Second, 2 * time.Second} { // three attempts
			time.Sleep(after)
			synctest.Wait()
			if got := f.breakers(); got != "A closed 0/1, B closed 1/1, C closed 0/0" {
				t.Fatalf("%v later: %s", after, got)
			}
		}
		broken.Store(false)
		f.Idle()
		if got := f.breakers(); got != "A closed 0/1, B closed 0/1, C closed 0/1" {
			t.Errorf("after a retry that went well: %s", got)
		}
	})
}

// A member that would be probed is not reached, because one before it fails. That must
// not use up its probe.
func (env *Env) TestAProbeThatIsNotReachedIsNotUsedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.ReopenWith(t, env.Target(t), builtin)
		var firstFails, secondFails atomic.Bool
		var handled Journal[int]
		_, err := runtime.Subscribe(f.Bus, builtinType, "first", func(context.Context, runtime.Event[OrderPlaced]) error {
			if firstFails.Load() {
				return ErrBoom
			}
			return nil
		}, runtime.InGroup("members"), runtime.WithBreaker(breaker.Off()), runtime.WithRetry(retry.MaxAttempts(20)))
		Must(t, err)
		_, err = runtime.Subscribe(f.Bus, builtinType, "second", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			if secondFails.Load() {
				return runtime.Permanent(ErrBoom)
			}
			handled.Add(e.Payload.Number)
			return nil
		}, runtime.InGroup("members"))
		Must(t, err)
		f.MustStart()
		secondFails.Store(true)
		for n := range 4 {
			f.builtin(n)
		}
		synctest.Wait()
		if got := f.breakers(); got != "first closed 0/4, second open 4/4" {
			t.Fatal(got)
		}
		time.Sleep(30 * time.Second) // the second is to be probed
		secondFails.Store(false)
		firstFails.Store(true)
		f.builtin(5)
		time.Sleep(5 * time.Second)
		if got := handled.All(); got != nil {
			t.Fatalf("the second has handled %v before the first", got)
		}
		firstFails.Store(false)
		f.builtin(6)
		f.Idle()
		got := handled.All()
		slices.Sort(got)
		if state := f.Stats().Subscriptions[1].Breaker.State; !slices.Equal(got, []int{5, 6}) || state != "closed" {
			t.Errorf("the second has handled %v, and its breaker is %s", got, state)
		}
	})
}

// closed → open → half-open → open → half-open → closed, and what passes in each.
func (env *Env) TestTheStatesOfABreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var broken atomic.Bool
		broken.Store(true)
		var began time.Time
		var calls Journal[time.Duration]
		f := env.openBuiltin(t, func(context.Context, runtime.Event[OrderPlaced]) error {
			calls.Add(time.Since(began))
			if time.Since(began) >= 30*time.Second {
				time.Sleep(2 * time.Second) // so that the probe is seen
			}
			if broken.Load() {
				return runtime.Permanent(ErrBoom)
			}
			return nil
		}, runtime.WithConcurrency(4))
		began = time.Now()
		for n := range 10 {
			f.builtin(n)
			synctest.Wait()
		}
		var states []string
		at := func(d time.Duration) {
			time.Sleep(d - time.Since(began))
			synctest.Wait()
			states = append(states, fmt.Sprintf("%v %s %d", d, f.Stats().Subscriptions[0].Breaker.State, len(calls.All())))
		}
		at(time.Second)
		at(29 * time.Second)
		at(31 * time.Second) // the probe is under way
		at(33 * time.Second)
		at(61 * time.Second)
		broken.Store(false)
		at(63 * time.Second)
		at(65 * time.Second) // the next probe; it went well
		f.Idle()
		at(2 * time.Minute)
		want := []string{"1s open 4", "29s open 4", "31s half-open 5", "33s open 5", "1m1s open 5", "1m3s half-open 6", "1m5s closed 10", "2m0s closed 10"}
		if !slices.Equal(states, want) {
			t.Errorf("got  %q\nwant %q", states, want)
		}
	})
}
