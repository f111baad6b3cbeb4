package breaker_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime/breaker"
)

const sec = time.Second

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// after is a moment of the tests, counted from noon.
func after(d time.Duration) time.Time { return noon.Add(d) }

// work numbers the pieces of work of all tests.
var work atomic.Int64

// acquire asks for a permit for new work, which the breaker must give.
func acquire(t testing.TB, b *breaker.Breaker, now time.Time) breaker.Permit {
	t.Helper()
	return acquireFor(t, b, now, work.Add(1))
}

func acquireFor(t testing.TB, b *breaker.Breaker, now time.Time, work int64) breaker.Permit {
	t.Helper()
	permit, ok := b.Acquire(now, work)
	if !ok {
		t.Fatalf("refused at %v; the breaker is %+v", now.Sub(noon), b.Status(now))
	}
	return permit
}

// refused asks for a permit that the breaker must not give.
func refused(t testing.TB, b *breaker.Breaker, now time.Time) {
	t.Helper()
	if permit, ok := b.Acquire(now, work.Add(1)); ok || permit != (breaker.Permit{}) {
		t.Fatalf("got a permit at %v; the breaker is %+v", now.Sub(noon), b.Status(now))
	}
}

// play has one outcome after another, each of other work: F for a failure, S
// for a success and R for a release.
func play(t testing.TB, b *breaker.Breaker, now time.Time, outcomes string) {
	t.Helper()
	for _, o := range outcomes {
		end(acquire(t, b, now), o, now)
	}
}

func end(p breaker.Permit, outcome rune, now time.Time) {
	switch outcome {
	case 'F':
		p.Failure(now, boom)
	case 'S':
		p.Success(now)
	case 'R':
		p.Release()
	}
}

const boom = "connection refused"

// wants compares a status. Since when it is not closed, and why, is looked at in
// passing.
func wants(t testing.TB, b *breaker.Breaker, now time.Time, want breaker.Status) {
	t.Helper()
	got := b.Status(now)
	if (got.Failures > 0 || got.State != breaker.Closed) && got.LastFailure != boom {
		t.Errorf("at %v the last failure is %q", now.Sub(noon), got.LastFailure)
	}
	got.LastFailure = want.LastFailure
	if got.Since.IsZero() != (got.State == breaker.Closed) {
		t.Errorf("at %v the breaker is %v since %v", now.Sub(noon), got.State, got.Since)
	}
	got.Since = want.Since
	if got != want {
		t.Errorf("at %v the breaker is %+v, want %+v", now.Sub(noon), got, want)
	}
}

// opened returns a breaker that opened at noon.
func opened(t testing.TB) *breaker.Breaker {
	t.Helper()
	b := breaker.New(breaker.Default())
	play(t, b, noon, "FFFF")
	wants(t, b, noon, breaker.Status{State: breaker.Open, Until: after(30 * sec), Samples: 4, Failures: 4})
	return b
}
