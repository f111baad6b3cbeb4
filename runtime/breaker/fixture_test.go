package breaker_test

import (
	"testing"
	"time"

	"github.com/busgen/busgen/runtime/breaker"
)

const sec = time.Second

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// after is a moment of the tests, counted from noon.
func after(d time.Duration) time.Time { return noon.Add(d) }

// acquire asks for a permit that the breaker must give.
func acquire(t testing.TB, b *breaker.Breaker, now time.Time) breaker.Permit {
	t.Helper()
	permit, ok := b.Acquire(now)
	if !ok {
		t.Fatalf("refused at %v; the breaker is %+v", now.Sub(noon), b.Status(now))
	}
	return permit
}

// refused asks for a permit that the breaker must not give.
func refused(t testing.TB, b *breaker.Breaker, now time.Time) {
	t.Helper()
	if permit, ok := b.Acquire(now); ok || permit != (breaker.Permit{}) {
		t.Fatalf("got a permit at %v; the breaker is %+v", now.Sub(noon), b.Status(now))
	}
}

// play has one outcome after another: F for a failure, S for a success and
// R for a release.
func play(t testing.TB, b *breaker.Breaker, now time.Time, outcomes string) {
	t.Helper()
	for _, o := range outcomes {
		end(acquire(t, b, now), o, now)
	}
}

func end(p breaker.Permit, outcome rune, now time.Time) {
	switch outcome {
	case 'F':
		p.Failure(now)
	case 'S':
		p.Success(now)
	case 'R':
		p.Release()
	}
}

// wants compares a status.
func wants(t testing.TB, b *breaker.Breaker, now time.Time, want breaker.Status) {
	t.Helper()
	if got := b.Status(now); got != want {
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
