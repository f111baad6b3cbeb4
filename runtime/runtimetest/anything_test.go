package runtimetest_test

import (
	"context"
	"errors"
	"flag"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/runtimetest"
)

var (
	anySeed   = flag.Uint64("any.seed", 0, "run TestNothingIsLostWhateverHappens with this seed only")
	anyRounds = short.Flag("any.rounds", 40, 6, "how many seeds TestNothingIsLostWhateverHappens tries")
)

// Whatever happens to handlers, the disk, the process and the machine: an event
// whose publisher was told that it is stored is handled or dead in the end, and
// what its handler has published is there exactly once.
func TestNothingIsLostWhateverHappens(t *testing.T) {
	short.Visit(t, "it lives many lives")
	for seed := uint64(1); seed <= uint64(anyRounds.N()); seed++ {
		if *anySeed != 0 {
			seed = *anySeed
		}
		run(t, func(t *testing.T, k *runtimetest.Kit) {
			w := &world{Kit: k, Rand: rand.New(rand.NewPCG(seed, 0)), handled: map[int]bool{}}
			k.Setup(w.subscribe)
			for range 30 {
				w.step(t)
			}
			w.judge(t)
		})
		if t.Failed() || *anySeed != 0 {
			t.Logf("see it again with -run WhateverHappens -any.seed %d", seed)
			return
		}
	}
}

// world is a program, and what happens to it.
type world struct {
	*runtimetest.Kit
	*rand.Rand
	next   int   // number of the next order
	stored []int // numbers of orders whose publishers were told so

	handled map[int]bool // numbers of orders that were paid; the handler is one at a time
}

func (w *world) subscribe(bus *runtime.Bus) error {
	_, pay := runtime.Subscribe(bus, placedType, "pay", func(ctx context.Context, e runtime.Event[orderPlaced]) error {
		w.handled[e.Payload.Number] = true
		_, err := runtime.Publish(ctx, bus, paidType, orderPaid(e.Payload))
		return err
	}, runtime.WithTimeout(time.Minute))
	return pay
}

// step is one thing that happens.
func (w *world) step(t *testing.T) {
	faults := []runtimetest.Fault{
		runtimetest.Fails(errBoom), runtimetest.FailsAfter(errBoom), runtimetest.Panics("oops"), runtimetest.Hangs(),
		runtimetest.Fails(runtime.Snooze(time.Second)),
	}
	disk := []func(){w.Disk.Fill, w.Disk.Ruin, w.Disk.Protect, func() { w.Disk.Slow(time.Second) }}
	switch w.IntN(12) {
	case 0, 1, 2, 3:
		for range 1 + w.IntN(3) {
			w.publish(t)
		}
	case 4, 5:
		w.Disk.Heal()
		w.Deliver()
	case 6:
		w.Disk.Heal()
		w.Advance(time.Duration(w.IntN(5000)) * time.Millisecond)
	case 7:
		w.Break("pay", 1+w.IntN(2), faults[w.IntN(len(faults))])
	case 8:
		disk[w.IntN(len(disk))]()
	case 9:
		w.Crash()
	case 10:
		w.PowerCut(w.Uint64())
	case 11:
		w.Disk.Heal()
		w.Restart()
	}
}

// publish publishes one order, and notes it if it is stored.
func (w *world) publish(t *testing.T) {
	number := w.next
	w.next++
	_, err := runtime.Publish(t.Context(), w.Bus, placedType, orderPlaced{Number: number})
	if _, isStorage := errors.AsType[*event.StorageError](err); err != nil && !isStorage {
		t.Errorf("publish: %v", err)
	}
	if err == nil {
		w.stored = append(w.stored, number)
	}
}

// judge lets everything come to its end.
func (w *world) judge(t *testing.T) {
	w.Disk.Heal()
	w.Repair("pay")
	w.Drain()
	published := numbersOf(runtimetest.Published[orderPlaced](w.Kit))
	var paid, dead []int
	for _, e := range runtimetest.Published[orderPaid](w.Kit) {
		paid = append(paid, e.Payload.Number)
	}
	for _, l := range runtimetest.DeadLetters[orderPlaced](w.Kit) {
		dead = append(dead, l.Event.Payload.Number)
	}
	for _, number := range w.stored {
		if !slices.Contains(published, number) {
			t.Errorf("order %d was acknowledged and is lost", number)
		}
	}
	for _, number := range published {
		times := 0
		for _, n := range slices.Concat(paid, dead) {
			if n == number {
				times++
			}
		}
		if times != 1 || slices.Contains(paid, number) && !w.handled[number] {
			t.Errorf("order %d is paid or dead %d times", number, times)
		}
	}
	if !slices.IsSorted(published) {
		t.Errorf("the orders are not in order: %v", published)
	}
}
