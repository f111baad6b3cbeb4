package breaker_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime/breaker"
)

func TestOnlyTheFirstEndOfAPermitCounts(t *testing.T) {
	for _, first := range "FSR" {
		for _, second := range "FSR" {
			t.Run(fmt.Sprintf("%c then %c", first, second), func(t *testing.T) {
				b := breaker.New(breaker.Default())
				permit := acquire(t, b, noon)
				end(permit, first, noon)
				want := b.Status(noon)
				for range 9 { // more than enough failures to open it
					end(permit, second, noon)
				}
				wants(t, b, noon, want)
			})
		}
	}
}

func TestAnEndedPermitDoesNotEndTheOneInItsPlace(t *testing.T) {
	b := opened(t)
	probe := acquire(t, b, after(30*sec))
	probe.Release()
	next := acquire(t, b, after(30*sec))
	for _, outcome := range "FSR" {
		end(probe, outcome, after(30*sec))
	}
	refused(t, b, after(30*sec))
	next.Success(after(30 * sec))
	wants(t, b, after(30*sec), breaker.Status{State: breaker.Closed})
}

func TestTheZeroPermitDoesNothing(t *testing.T) {
	for _, outcome := range "FSR" {
		end(breaker.Permit{}, outcome, noon)
	}
}

// A copy of a permit that ends with the permit, in two goroutines, is one outcome.
func TestCopiesThatEndAtTheSameTimeAreOneOutcome(t *testing.T) {
	b := breaker.New(breaker.Default().With(breaker.Off()))
	var ends sync.WaitGroup
	for range 100 {
		permit := acquire(t, b, noon)
		for range 4 {
			ends.Go(func() { permit.Failure(noon, boom) })
		}
	}
	ends.Wait()
	wants(t, b, noon, breaker.Status{Samples: 100, Failures: 100})
}

func TestOutcomesFromBeforeTheStateChangedAreIgnored(t *testing.T) {
	for _, late := range "FSR" {
		t.Run(fmt.Sprintf("%c", late), func(t *testing.T) {
			b := breaker.New(breaker.Default())
			var old []breaker.Permit
			for range 3 * 5 {
				old = append(old, acquire(t, b, noon))
			}
			endFive := func(now time.Time) {
				t.Helper()
				want := b.Status(now)
				for _, permit := range old[:5] {
					end(permit, late, now)
				}
				old = old[5:]
				wants(t, b, now, want)
			}
			play(t, b, noon, "FFFF")
			endFive(after(sec)) // open

			probe := acquire(t, b, after(30*sec))
			endFive(after(30 * sec)) // half-open
			refused(t, b, after(30*sec))

			probe.Success(after(31 * sec))
			endFive(after(31 * sec)) // closed again
		})
	}
}

func TestALateProbeIsIgnored(t *testing.T) {
	b := opened(t)
	probe := acquire(t, b, after(30*sec))
	b.Tune(breaker.Default().With(breaker.Off())) // closes it meanwhile
	b.Tune(breaker.Default())
	play(t, b, after(30*sec), "FFFF")
	next := acquire(t, b, after(60*sec))
	probe.Success(after(60 * sec))
	refused(t, b, after(60*sec))
	next.Release()
	wants(t, b, after(60*sec), breaker.Status{State: breaker.HalfOpen, Samples: 4, Failures: 4})
}

// Sixty-four goroutines ask an open breaker whose time passes with every
// question, while permits from before it opened end in between. Every probe
// frees the place for the next one, however it ends.
func TestThereAreNeverTwoProbes(t *testing.T) {
	const goroutines, asks = 64, 500
	b := breaker.New(breaker.Default().With(breaker.OpenFor(time.Millisecond)))
	old := make([]breaker.Permit, goroutines*asks)
	for i := range old {
		old[i] = acquire(t, b, noon)
	}
	play(t, b, noon, "FFFF")

	var all sync.WaitGroup
	var ticks, inFlight, probes atomic.Int64
	now := func() time.Time { return after(time.Duration(ticks.Add(1)) * time.Millisecond) }
	for g := range goroutines {
		all.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(g)))
			for i := range asks {
				end(old[g*asks+i], rune("FSR"[random.IntN(3)]), now())
				probe, ok := b.Acquire(now(), work.Add(1))
				if !ok {
					continue
				}
				if n := inFlight.Add(1); n > 1 {
					t.Errorf("%d probes at once", n)
				}
				probes.Add(1)
				runtime.Gosched() // others ask meanwhile
				inFlight.Add(-1)
				end(probe, rune("FR"[random.IntN(2)]), now())
			}
		})
	}
	all.Wait()
	if probes.Load() < 2 {
		t.Errorf("there were %d probes only", probes.Load())
	}
	later := now().Add(sec)
	play(t, b, later, "S") // the place is free at the end
	wants(t, b, later, breaker.Status{State: breaker.Closed})
}

func TestPermitsDoNotAllocate(t *testing.T) {
	closed, open := breaker.New(breaker.Default()), opened(t)
	now := noon
	for name, f := range map[string]func(){
		"a success": func() {
			permit, _ := closed.Acquire(now, work.Add(1))
			permit.Success(now)
			now = now.Add(sec) // the window slides
		},
		"a release":  func() { permit, _ := closed.Acquire(now, work.Add(1)); permit.Release() },
		"a refusal":  func() { open.Acquire(noon, work.Add(1)) },
		"the status": func() { closed.Status(now) },
		"a probe that fails": func() {
			now = now.Add(30 * sec)
			permit, _ := open.Acquire(now, work.Add(1))
			permit.Failure(now, boom)
		},
	} {
		if n := testing.AllocsPerRun(1000, f); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// Neither outcomes nor permits nor changes of state pile up.
func TestMemoryDoesNotGrowWithTheHistory(t *testing.T) {
	b := breaker.New(breaker.Default())
	changes := 0
	b.Notify(func(old, new breaker.Status) { changes++ })
	round := func(i int) {
		now := after(time.Duration(i) * time.Minute)
		play(t, b, now, "S") // closes it again
		var permits [10]breaker.Permit
		for i := range permits {
			permits[i] = acquire(t, b, now)
		}
		for i, permit := range permits {
			end(permit, rune("FFSR"[i%4]), now)
		}
	}
	inUse := func() int64 {
		var stats runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&stats)
		return int64(stats.HeapAlloc)
	}
	round(0)
	before := inUse()
	for i := range 20_000 {
		round(i + 1)
	}
	if grown := inUse() - before; grown > 200_000 {
		t.Errorf("220,000 permits and %d changes have left %d bytes", changes, grown)
	}
	runtime.KeepAlive(b)
	if want := 3*20_000 + 1; changes != want {
		t.Errorf("%d changes, want %d", changes, want)
	}
}
