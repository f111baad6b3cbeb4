package runtimetest_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/runtimetest"
)

func TestACrashLosesNothingThatWasPublished(t *testing.T) {
	run(t, func(t *testing.T, k *runtimetest.Kit) {
		var h handled
		subscribe(k, "receipts", h.handle)
		place(t, k, 1, 2)
		before := k.Bus
		k.Crash()
		if k.Bus == before {
			t.Error("it is the same bus")
		}
		if _, err := runtime.Publish(t.Context(), before, placedType, orderPlaced{Number: 3}); !errors.Is(err, runtime.ErrShutdown) {
			t.Errorf("publishing with the old bus: %v", err)
		}
		place(t, k, 4)
		k.Deliver()
		if got := h.numbers(); !slices.Equal(got, []int{1, 2, 4}) {
			t.Errorf("handled %v", got)
		}
		if got := numbersOf(runtimetest.Published[orderPlaced](k)); !slices.Equal(got, []int{1, 2, 4}) {
			t.Errorf("published %v", got)
		}
	})
}

func TestACrashCountsAsAnAttemptOfTheRunningHandlers(t *testing.T) {
	run(t, func(t *testing.T, k *runtimetest.Kit) {
		var h handled
		subscribe(k, "receipts", h.handle)
		place(t, k, 1, 2, 3)
		for range 2 {
			k.Break("receipts", 1, runtimetest.Hangs())
			k.Deliver()
			time.Sleep(15 * time.Second) // else it is a crash loop
			k.Crash()
		}
		k.Deliver()
		if numbers, attempts := h.numbers(), h.attempts(); !slices.Equal(numbers, []int{1, 2, 3}) || !slices.Equal(attempts, []int{3, 1, 1}) {
			t.Errorf("handled %v, attempts %v", numbers, attempts)
		}
		if got := k.Bus.Stats().Recovery.Interrupted; got != 1 {
			t.Errorf("%d were interrupted", got)
		}
	})
}

func TestAnEventThatKillsItsProcessEachTimeIsADeadLetter(t *testing.T) {
	run(t, func(t *testing.T, k *runtimetest.Kit) {
		var h handled
		subscribe(k, "receipts", h.handle)
		place(t, k, 1, 2)
		k.Break("receipts", 3, runtimetest.Hangs())
		for range 3 {
			k.Deliver()
			time.Sleep(15 * time.Second) // else it is a crash loop
			k.Crash()
		}
		k.Drain()
		letters := runtimetest.DeadLetters[orderPlaced](k)
		if len(letters) != 1 || letters[0].Reason != "crash" || letters[0].Event.Payload.Number != 1 || !slices.Equal(h.numbers(), []int{2}) {
			t.Errorf("handled %v, dead %+v", h.numbers(), letters)
		}
	})
}

func TestEventsDeliveredBeforeACrashAreNotDeliveredAgain(t *testing.T) {
	run(t, func(t *testing.T, k *runtimetest.Kit) {
		var h handled
		subscribe(k, "receipts", h.handle)
		for n := range 5 {
			place(t, k, n)
			k.Deliver()
			k.Crash()
		}
		if got := h.numbers(); !slices.Equal(got, []int{0, 1, 2, 3, 4}) {
			t.Errorf("handled %v", got)
		}
	})
}

func TestAPowerCutLosesNothingThatWasPublishedInFull(t *testing.T) {
	short.Visit(t, "it lives many lives")
	for seed := range uint64(30) {
		run(t, func(t *testing.T, k *runtimetest.Kit) {
			var h handled
			subscribe(k, "receipts", h.handle)
			place(t, k, 1, 2)
			k.Deliver()
			place(t, k, 3)
			k.PowerCut(seed)
			place(t, k, 4)
			k.Deliver()
			if got := numbersOf(runtimetest.Published[orderPlaced](k)); !slices.Equal(got, []int{1, 2, 3, 4}) {
				t.Errorf("seed %d: published %v", seed, got)
			}
			got := h.numbers()
			slices.Sort(got)
			if got = slices.Compact(got); !slices.Equal(got, []int{1, 2, 3, 4}) {
				t.Errorf("seed %d: handled %v", seed, got)
			}
		})
	}
}

func TestAPowerCutLosesTheNewestUnsyncedEvents(t *testing.T) {
	short.Visit(t, "it lives many lives")
	lost := 0
	for seed := range uint64(30) {
		run(t, func(t *testing.T, k *runtimetest.Kit) {
			place(t, k, 1, 2, 3)
			k.PowerCut(seed)
			left := numbersOf(runtimetest.Published[orderPlaced](k))
			if !slices.Equal(left, []int{1, 2, 3}[:len(left)]) {
				t.Errorf("seed %d: %v are left", seed, left)
			}
			lost += 3 - len(left)
		}, runtime.WithDurability(runtime.Normal))
	}
	if lost == 0 {
		t.Error("nothing was lost in 30 power cuts")
	}
}

func TestAPowerCutForgetsRunningAttempts(t *testing.T) {
	run(t, func(t *testing.T, k *runtimetest.Kit) {
		var h handled
		subscribe(k, "receipts", h.handle)
		place(t, k, 1)
		k.Break("receipts", 1, runtimetest.Hangs())
		k.Deliver()
		k.PowerCut(1)
		k.Start()
		if got := k.Bus.Stats().Recovery.Interrupted; got != 0 {
			t.Errorf("%d were interrupted, but nobody can know", got)
		}
		k.Drain()
		if got := h.numbers(); !slices.Equal(got, []int{1}) {
			t.Errorf("handled %v", got)
		}
	})
}

func TestACrashLosesNothingThatConcurrentPublishersGotAcknowledged(t *testing.T) {
	k := runtimetest.New(t, catalogue)
	var acknowledged []int
	for life := range 10 {
		bus, results := k.Bus, make([]int, 8)
		var publishers sync.WaitGroup
		begun := make(chan struct{}, len(results))
		for p := range results {
			publishers.Go(func() {
				for {
					number := 1_000_000*life + 100_000*p + results[p]
					if _, err := runtime.Publish(t.Context(), bus, placedType, orderPlaced{Number: number}); err != nil {
						return
					}
					if results[p]++; results[p] == 10 {
						begun <- struct{}{}
					}
				}
			})
		}
		<-begun
		k.Crash()
		publishers.Wait()
		for p, n := range results {
			for i := range n {
				acknowledged = append(acknowledged, 1_000_000*life+100_000*p+i)
			}
		}
	}
	stored := map[int]bool{}
	for _, n := range numbersOf(runtimetest.Published[orderPlaced](k)) {
		stored[n] = true
	}
	for _, n := range acknowledged {
		if !stored[n] {
			t.Errorf("order %d was acknowledged and is gone", n)
		}
	}
}

func TestARestartLetsHandlersEnd(t *testing.T) {
	run(t, func(t *testing.T, k *runtimetest.Kit) {
		var h handled
		subscribe(k, "receipts", func(ctx context.Context, e runtime.Event[orderPlaced]) error {
			time.Sleep(3 * time.Second)
			return h.handle(ctx, e)
		})
		place(t, k, 1, 2)
		k.Deliver()
		k.Restart()
		if got := h.numbers(); !slices.Equal(got, []int{1}) {
			t.Errorf("handled %v before the restart", got)
		}
		k.Drain()
		if got := h.attempts(); !slices.Equal(h.numbers(), []int{1, 2}) || !slices.Equal(got, []int{1, 1}) {
			t.Errorf("handled %v, attempts %v", h.numbers(), got)
		}
	})
}

func TestARestartInterruptsHandlersThatDoNotEnd(t *testing.T) {
	run(t, func(t *testing.T, k *runtimetest.Kit) {
		var h handled
		subscribe(k, "receipts", h.handle)
		k.Break("receipts", 1, runtimetest.Hangs())
		place(t, k, 1)
		k.Deliver()
		began := time.Now()
		k.Restart()
		if took := time.Since(began); took < 10*time.Second || took > 11*time.Second {
			t.Errorf("it took %v", took)
		}
		k.Deliver()
		if got := h.attempts(); !slices.Equal(got, []int{2}) {
			t.Errorf("attempts %v", got)
		}
	})
}

func TestARetryKeepsItsTimeOverACrash(t *testing.T) {
	run(t, func(t *testing.T, k *runtimetest.Kit) {
		var h handled
		subscribe(k, "receipts", h.handle)
		k.Break("receipts", 2, runtimetest.Fails(errBoom))
		place(t, k, 1)
		k.Advance(1500 * time.Millisecond)
		k.Crash()
		k.Advance(1499 * time.Millisecond)
		if got := h.numbers(); got != nil {
			t.Errorf("handled %v too early", got)
		}
		k.Advance(time.Millisecond)
		if got := h.attempts(); !slices.Equal(got, []int{3}) {
			t.Errorf("attempts %v", got)
		}
	})
}

func TestACrashOutsideOfABubble(t *testing.T) {
	k := runtimetest.New(t, catalogue)
	var h handled
	subscribe(k, "receipts", h.handle)
	place(t, k, 1)
	k.Start()
	k.Crash()
	k.Drain()
	if got := h.numbers(); len(got) == 0 || len(got) > 2 || got[0] != 1 {
		t.Errorf("handled %v", got)
	}
}
