package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/busgen/busgen/internal/short"
)

func TestTheLimitsAreMeasuredAndReported(t *testing.T) {
	short.Skip(t, "it measures")
	dir := t.TempDir()
	// Whether they hold depends on what else this machine does.
	code, stdout, stderr := bench(t.Context(), dir, "-limits", "-time", "300ms")
	if code != 0 && !strings.Contains(stderr, errBroken.Error()) {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	for _, b := range bounds {
		if !strings.Contains(stdout, b.what) {
			t.Errorf("nothing is said about %s:\n%s", b.what, stdout)
		}
	}
	requireEmpty(t, dir)
}

func TestALimitThatIsBrokenEveryTimeIsAnError(t *testing.T) {
	short.Visit(t, "it measures")
	for _, test := range []struct {
		worst  float64
		atMost bool
		holds  bool
	}{{1e12, true, true}, {1e-12, true, false}, {1e-12, false, true}, {1e12, false, false}} {
		one := bounds[1]
		one.source, one.factor, one.atMost = test.worst, 1, test.atMost
		var out bytes.Buffer
		err := hold(t.Context(), []bound{one}, setting{total: time.Millisecond, events: 10}, t.TempDir(), &out)
		if (err == nil) != test.holds || !test.holds && !errors.Is(err, errBroken) {
			t.Errorf("at most %v, %v: %v", test.worst, test.atMost, err)
		}
		tries := 1
		if !test.holds {
			tries = boundTries
		}
		if n := strings.Count(out.String(), one.what); n != tries {
			t.Errorf("it was measured %d times, want %d", n, tries)
		}
	}
}

func TestAFactorMakesALimitMoreGenerous(t *testing.T) {
	for _, b := range bounds {
		if b.factor < 2 || b.atMost && b.allowed() <= b.source || !b.atMost && b.allowed() >= b.source {
			t.Errorf("%s: promised %v, allowed %v", b.what, b.source, b.allowed())
		}
		good, bad := b, b
		good.value, bad.value = func(result) float64 { return b.source }, func(result) float64 { return b.allowed() * 1.01 }
		if !b.atMost {
			bad.value = func(result) float64 { return b.allowed() * 0.99 }
		}
		if !good.holds(result{}) || bad.holds(result{}) {
			t.Errorf("%s: what is promised holds is %v, and what is worse than allowed %v", b.what, good.holds(result{}), bad.holds(result{}))
		}
	}
}
