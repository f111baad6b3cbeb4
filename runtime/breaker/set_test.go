package breaker_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime/breaker"
)

// fails has so many pieces of work of a key fail.
func fails(t *testing.T, s *breaker.Set, now time.Time, key string, n int) {
	t.Helper()
	for range n {
		number := work.Add(1)
		permit, ok := s.Acquire(now, key, number)
		switch {
		case !ok:
			t.Fatalf("refused %s at %v", key, now.Sub(noon))
		case permit == breaker.Permit{}:
			s.Failure(now, key, number, boom)
		default:
			permit.Failure(now, boom)
		}
	}
}

func TestASetHasABreakerForEachKey(t *testing.T) {
	s := breaker.NewSet(breaker.Default())
	var changes []string
	s.Notify(func(key string, old, new breaker.Status) {
		changes = append(changes, fmt.Sprint(key, " ", old.State, " ", new.State))
	})
	fails(t, s, noon, "dead", 4)
	if until, refuses := s.Refuses(noon, "dead"); !refuses || !until.Equal(after(30*sec)) {
		t.Errorf("refuses until %v: %v", until, refuses)
	}
	if permit, ok := s.Acquire(noon, "dead", 1); ok {
		t.Errorf("got %v", permit)
	}
	if permit, ok := s.Acquire(noon, "well", 1); !ok || permit != (breaker.Permit{}) {
		t.Errorf("a key that does well got %v, %v", permit, ok)
	}
	probe, ok := s.Acquire(after(30*sec), "dead", 2)
	if until, refuses := s.Refuses(after(30*sec), "dead"); !ok || !refuses || !until.IsZero() {
		t.Errorf("during the probe it refuses until %v: %v", until, refuses)
	}
	probe.Success(after(31 * sec))
	if _, refuses := s.Refuses(after(31*sec), "dead"); refuses || s.Len() != 0 {
		t.Errorf("refuses %v, and remembers %d keys", refuses, s.Len())
	}
	if got := fmt.Sprint(changes); got != "[dead closed open dead open half-open dead half-open closed]" {
		t.Errorf("the changes were %s", got)
	}
}

func TestASetForgetsQuietKeys(t *testing.T) {
	s := breaker.NewSet(breaker.Default())
	for n := range 10_000 {
		now := after(time.Duration(n) * 100 * time.Millisecond) // 600 keys fail in a window
		fails(t, s, now, fmt.Sprint("key ", n), 1)
		if permit, ok := s.Acquire(now, fmt.Sprint("well ", n), 1); !ok || permit != (breaker.Permit{}) {
			t.Fatalf("got %v, %v", permit, ok)
		}
	}
	if s.Len() > 1300 {
		t.Errorf("%d keys are remembered, of 600 that have failed within the window", s.Len())
	}
}

func TestASetIsTunedAndReset(t *testing.T) {
	s := breaker.NewSet(breaker.Default())
	for n := range 3 {
		fails(t, s, noon, fmt.Sprint(n), 4)
	}
	if s.Reset("4") || !s.Reset("0") || s.Reset("0") {
		t.Error("one of a key was to be closed")
	}
	fails(t, s, noon, "0", 1)
	if n := s.ResetAll(); n != 2 || s.Len() != 0 {
		t.Errorf("%d were closed, and %d keys are remembered", n, s.Len())
	}
	fails(t, s, noon, "1", 4)
	s.Tune(breaker.Default().With(breaker.Off()))
	fails(t, s, noon, "1", 10)
	if _, refuses := s.Refuses(noon, "1"); refuses {
		t.Error("it is off, and refuses")
	}
}
