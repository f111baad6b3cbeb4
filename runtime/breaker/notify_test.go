package breaker_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/runtime/breaker"
)

// transitions has every change of b written down.
func transitions(b *breaker.Breaker) *[]string {
	var told []string
	b.Notify(func(old, new breaker.Status) {
		told = append(told, fmt.Sprintf("%v %d/%d → %v %d/%d", old.State, old.Failures, old.Samples, new.State, new.Failures, new.Samples))
	})
	return &told
}

func TestEachChangeOfStateIsReported(t *testing.T) {
	b := breaker.New(breaker.Default())
	told := transitions(b)
	play(t, b, noon, "SFRFF")
	play(t, b, after(30*sec), "RF")
	play(t, b, after(60*sec), "S")
	play(t, b, after(60*sec), "FFFF")
	b.Tune(breaker.Default().With(breaker.Off()))
	b.Tune(breaker.Default().With(breaker.Off()))
	want := []string{
		"closed 3/4 → open 3/4",
		"open 3/4 → half-open 3/4",
		"half-open 4/5 → open 4/5",
		"open 1/1 → half-open 1/1", // the probe of half a minute ago
		"half-open 1/2 → closed 0/0",
		"closed 4/4 → open 4/4",
		"open 4/4 → closed 0/0",
	}
	if diff := cmp.Diff(want, *told); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

func TestTheTimeOfAnOpenBreakerIsReported(t *testing.T) {
	b := breaker.New(breaker.Default())
	var olds, news []time.Time
	b.Notify(func(old, new breaker.Status) { olds, news = append(olds, old.Until), append(news, new.Until) })
	play(t, b, noon, "FFFF")
	play(t, b, after(50*sec), "F")
	if want := []time.Time{{}, after(30 * sec), {}}; !slices.Equal(olds, want) {
		t.Errorf("before the changes: %v, want %v", olds, want)
	}
	if want := []time.Time{after(30 * sec), {}, after(80 * sec)}; !slices.Equal(news, want) {
		t.Errorf("after the changes: %v, want %v", news, want)
	}
}

func TestOnlyTheLastFunctionIsCalled(t *testing.T) {
	b := breaker.New(breaker.Default())
	first := transitions(b)
	second := transitions(b)
	play(t, b, noon, "FFFF")
	b.Notify(nil)
	play(t, b, after(30*sec), "S")
	if len(*first) != 0 || len(*second) != 1 {
		t.Errorf("the first was told %q and the second %q", *first, *second)
	}
}

func TestTheFunctionMayUseTheBreaker(t *testing.T) {
	b := breaker.New(breaker.Default())
	var told []string
	b.Notify(func(old, new breaker.Status) {
		told = append(told, fmt.Sprintf("%v → %v", old.State, new.State))
		if got := b.Status(noon); len(told) == 1 && got != new {
			t.Errorf("the status is %+v, want %+v", got, new)
		}
		if new.State == breaker.Open { // probes from within: told after this one
			probe := acquire(t, b, new.Until)
			probe.Success(new.Until)
			told = append(told, "returned")
		}
	})
	play(t, b, noon, "FFFF")
	want := []string{"closed → open", "returned", "open → half-open", "half-open → closed"}
	if !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}

func TestAFunctionThatPanicsDoesNotBreakIt(t *testing.T) {
	b := breaker.New(breaker.Default())
	var told []breaker.State
	b.Notify(func(_, new breaker.Status) {
		told = append(told, new.State)
		if new.State == breaker.Open {
			acquire(t, b, new.Until) // the change that is still to be told
			panic("oh")
		}
	})
	func() {
		defer func() {
			if cause := recover(); cause != "oh" {
				t.Errorf("recovered %v", cause)
			}
		}()
		play(t, b, noon, "FFFF")
	}()
	refused(t, b, after(30*sec))
	if want := []breaker.State{breaker.Open, breaker.HalfOpen}; !slices.Equal(told, want) {
		t.Errorf("told %v, want %v", told, want)
	}
}

// Each change begins where the one before ended, and no two are told at once:
// told would be a data race.
func TestChangesAreReportedInOrder(t *testing.T) {
	b := breaker.New(breaker.Default().With(breaker.MinSamples(1), breaker.OpenFor(time.Millisecond)))
	var told []breaker.Status
	var telling, ticks atomic.Int64
	b.Notify(func(old, new breaker.Status) {
		if telling.Add(1) > 1 {
			t.Error("told twice at once")
		}
		if n := len(told); n > 0 && told[n-1].State != old.State {
			t.Errorf("change %d is from %v, but the one before was to %v", n, old.State, told[n-1].State)
		}
		runtime.Gosched() // others change the state meanwhile
		told = append(told, new)
		telling.Add(-1)
	})
	var all sync.WaitGroup
	for g := range 16 {
		all.Go(func() {
			random := rand.New(rand.NewPCG(2, uint64(g)))
			for range 500 {
				now := after(time.Duration(ticks.Add(1)) * time.Millisecond)
				if permit, ok := b.Acquire(now, work.Add(1)); ok {
					end(permit, rune("FSR"[random.IntN(3)]), now)
				}
			}
		})
	}
	all.Wait()
	if len(told) < 10 {
		t.Fatalf("only %d changes", len(told))
	}
	if got, want := b.Status(noon).State, told[len(told)-1].State; got != want {
		t.Errorf("it is %v, but %v was told last", got, want)
	}
}
