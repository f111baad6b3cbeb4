package retry_test

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime/retry"
)

// eventID mimics a time-ordered id: a shared prefix and a counter at the end,
// the hardest input for a hash that mixes badly.
func eventID(i int) (id [16]byte) {
	copy(id[:], "same-tim")
	binary.BigEndian.PutUint64(id[8:], uint64(i))
	return id
}

func TestJitterIsSpreadEvenlyOverItsWindow(t *testing.T) {
	const draws, buckets = 10_000, 20
	p := retry.Default().With(retry.Jitter(0.5))
	lo, hi := p.Window(3)
	sources := map[string]func(i int) time.Duration{
		"over consecutive events": func(i int) time.Duration { return p.Jittered(3, eventID(i), "mailer") },
		"over subscriptions":      func(i int) time.Duration { return p.Jittered(3, eventID(1), fmt.Sprint("worker-", i)) },
		"over executions": func(i int) time.Duration {
			constant := p.With(retry.WithBackoff(retry.Constant), retry.BaseDelay(2*time.Second))
			return constant.Jittered(i+2, eventID(1), "mailer")
		},
	}
	for name, draw := range sources {
		t.Run(name, func(t *testing.T) {
			var counts [buckets]int
			for i := range draws {
				counts[int64(draw(i)-lo)*buckets/int64(hi-lo+1)]++
			}
			// Pearson's chi-squared with 19 degrees of freedom exceeds 43.8 once in a
			// thousand times for a fair draw; the draws are fixed, so this cannot flake.
			chi := 0.0
			for _, c := range counts {
				d := float64(c) - draws/buckets
				chi += d * d / (draws / buckets)
			}
			if chi > 43.8 {
				t.Errorf("chi-squared is %.1f for counts %v", chi, counts)
			}
		})
	}
}

func TestJitterReachesBothEndsOfANarrowWindow(t *testing.T) {
	p := retry.Policy{MaxAttempts: 2, BaseDelay: 10, MaxDelay: time.Second, Multiplier: 1, Jitter: 0.2}
	seen := map[time.Duration]bool{}
	for i := range 1000 {
		seen[p.Jittered(2, eventID(i), "s")] = true
	}
	for d := time.Duration(8); d <= 12; d++ {
		if !seen[d] {
			t.Errorf("%v was never drawn", d)
		}
	}
	if len(seen) != 5 {
		t.Errorf("drew %v, want 8ns to 12ns only", seen)
	}
}

// A recomputed schedule must agree with the one of an older release.
func TestJitterOfAKnownEventNeverChanges(t *testing.T) {
	p := retry.Default()
	got := []time.Duration{p.Jittered(2, eventID(7), "mailer"), p.Jittered(3, eventID(7), "mailer"), p.Jittered(2, eventID(7), "audit"),
		p.Jittered(300, eventID(7), "mailer")}
	want := []time.Duration{1075630039, 1804253675, 1090039346, 29769282008}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("draw %d is %d, want %d", i, got[i], want[i])
		}
	}
}

func TestJitteredDoesNotAllocate(t *testing.T) {
	p, id := retry.Default(), eventID(1)
	n := testing.AllocsPerRun(100, func() { p.Jittered(3, id, "mailer") })
	if n != 0 {
		t.Errorf("%v allocations per call", n)
	}
}

func BenchmarkJittered(b *testing.B) {
	p, id := retry.Default(), eventID(1)
	b.ReportAllocs()
	for b.Loop() {
		p.Jittered(3, id, "mailer")
	}
}
