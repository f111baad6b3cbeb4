package runtimetest_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/runtimetest"
)

// batches collects what a handler of batches has seen: each batch as "1.1 2.1", with the
// number of the order and the attempt.
type batches struct {
	mu  sync.Mutex
	all []string
}

func (b *batches) handle(_ context.Context, events []runtime.Event[orderPlaced]) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var items []string
	for _, e := range events {
		items = append(items, fmt.Sprintf("%d.%d", e.Payload.Number, e.Attempt))
	}
	b.all = append(b.all, strings.Join(items, " "))
	return nil
}

// saw checks the batches since the last call.
func (b *batches) saw(t *testing.T, want ...string) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.Equal(b.all, want) {
		t.Errorf("got batches %q, want %q", b.all, want)
	}
	b.all = nil
}

// subscribeBatches connects a handler of batches of three now and after each restart.
func subscribeBatches(k *runtimetest.Kit, name string, handler runtime.BatchHandler[orderPlaced]) {
	k.Setup(func(bus *runtime.Bus) error {
		_, err := runtime.SubscribeBatch(bus, placedType, name, handler, runtime.WithBatch(3, time.Minute))
		return err
	})
}

func TestABatchThatIsNotFullWaitsForTheClockOfTheTest(t *testing.T) {
	run(t, func(t *testing.T, k *runtimetest.Kit) {
		var seen batches
		subscribeBatches(k, "export", seen.handle)
		place(t, k, 1, 2, 3, 4)
		k.Deliver()
		seen.saw(t, "1.1 2.1 3.1")
		k.Advance(59 * time.Second)
		seen.saw(t)
		place(t, k, 5)
		k.Advance(time.Second)
		seen.saw(t, "4.1 5.1")
		place(t, k, 6)
		k.Drain()
		seen.saw(t, "6.1")
		if attempts := k.Attempts("export"); len(attempts) != 6 || attempts[5].Result != "handled" {
			t.Errorf("attempts: %+v", attempts)
		}
	})
}

func TestAFaultOfABatchIsOneForAllOfItsEvents(t *testing.T) {
	run(t, func(t *testing.T, k *runtimetest.Kit) {
		var seen batches
		subscribeBatches(k, "export", seen.handle)
		k.Break("export", 1, runtimetest.Fails(errBoom))
		k.Break("export", 1, runtimetest.Panics("boom"))
		place(t, k, 1, 2, 3)
		k.Deliver()
		seen.saw(t)
		k.Drain() // a panic in the second attempt; the last attempt of each is alone
		seen.saw(t, "1.3", "2.3", "3.3")
		var results []string
		for _, a := range k.Attempts("export") {
			results = append(results, fmt.Sprintf("%d %s %s", a.Attempt, a.Result, a.Kind))
		}
		want := slices.Concat(slices.Repeat([]string{"1 failed error"}, 3), slices.Repeat([]string{"2 failed panic"}, 3), slices.Repeat([]string{"3 handled "}, 3))
		if !slices.Equal(results, want) {
			t.Errorf("attempts are %q, want %q", results, want)
		}
		if letters := k.AllDeadLetters(); len(letters) > 0 {
			t.Errorf("dead letters: %+v", letters)
		}
	})
}

func TestABatchThatHangsTimesOutAsAWhole(t *testing.T) {
	run(t, func(t *testing.T, k *runtimetest.Kit) {
		var seen batches
		subscribeBatches(k, "export", seen.handle)
		k.Break("export", 1, runtimetest.Hangs())
		place(t, k, 1, 2, 3)
		k.Advance(30*time.Second + time.Millisecond)
		for _, a := range k.Attempts("export") {
			if a.Kind != "timeout" {
				t.Errorf("got %+v", a)
			}
		}
		k.Drain()
		seen.saw(t, "1.2 2.2 3.2")
	})
}

func TestWhatABatchHasGatheredSurvivesARestartAndACrash(t *testing.T) {
	for name, ends := range map[string]func(k *runtimetest.Kit){
		"restart":   (*runtimetest.Kit).Restart,
		"crash":     (*runtimetest.Kit).Crash,
		"power cut": func(k *runtimetest.Kit) { k.PowerCut(7) },
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(t *testing.T, k *runtimetest.Kit) {
				var seen batches
				subscribeBatches(k, "export", seen.handle)
				place(t, k, 1, 2)
				k.Advance(time.Second)
				ends(k)
				seen.saw(t)
				place(t, k, 3)
				k.Drain()
				seen.saw(t, "1.1 2.1 3.1") // gathered and never begun: no attempt
			})
		})
	}
}

func TestTheEventsOfABatchThatACrashEndsRunInHalves(t *testing.T) {
	run(t, func(t *testing.T, k *runtimetest.Kit) {
		var seen batches
		subscribeBatches(k, "export", seen.handle)
		k.Break("export", 1, runtimetest.Hangs())
		place(t, k, 1, 2, 3)
		k.Deliver()
		k.Crash()
		k.Drain()
		seen.saw(t, "1.2 2.2", "3.2")
	})
}

func TestATestMayEndWhileABatchWaits(t *testing.T) {
	var seen batches
	run(t, func(t *testing.T, k *runtimetest.Kit) {
		subscribeBatches(k, "export", seen.handle)
		place(t, k, 1)
		k.Deliver()
	})
	seen.saw(t)
}
