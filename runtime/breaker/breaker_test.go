package breaker_test

import (
	"strings"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime/breaker"
)

func TestABreakerOpensWhenTooManyOutcomesAreFailures(t *testing.T) {
	standard := breaker.Default()
	tests := []struct {
		name     string
		policy   breaker.Policy
		outcomes string
		opens    bool // with the last of them; never before
	}{
		{"nothing has happened", standard, "", false},
		{"three failures are too few samples", standard, "FFF", false},
		{"exactly half is not too many", standard, "FFSS", false},
		{"three of four are too many", standard, "FSFF", true},
		{"all of four are too many", standard, "FFFF", true},
		{"the sample that was missing may be a success", standard, "FFFS", true},
		{"half of six, then four of seven", standard, "SFSFSFF", true},
		{"releases are no samples", standard, "FRRRFRRRFRR", false},
		{"releases do not dilute", standard, "FRSRFRF", true},
		{"a single sample", standard.With(breaker.MinSamples(1)), "F", true},
		{"threshold 0 allows successes", standard.With(breaker.Threshold(0)), "SSSSSSS", false},
		{"threshold 0 allows no failure", standard.With(breaker.Threshold(0)), "SSSSSSSF", true},
		{"29 of 100 are exactly 0.29", standard.With(breaker.Threshold(0.29), breaker.MinSamples(100)), strings.Repeat("F", 29) + strings.Repeat("S", 71), false},
		{"30 of 100 are more than 0.29", standard.With(breaker.Threshold(0.29), breaker.MinSamples(100)), strings.Repeat("F", 30) + strings.Repeat("S", 70), true},
		{"off, it never opens", standard.With(breaker.Off()), "FFFFFFFFFFFFFFFF", false},
		{"off and on again, it opens", standard.With(breaker.Off(), breaker.On()), "FFFF", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := breaker.New(tt.policy)
			play(t, b, noon, tt.outcomes) // fails if it opens before the last
			want := breaker.Status{
				Samples:  strings.Count(tt.outcomes, "F") + strings.Count(tt.outcomes, "S"),
				Failures: strings.Count(tt.outcomes, "F"),
			}
			if tt.opens {
				want.State, want.Until = breaker.Open, after(30*sec)
			}
			wants(t, b, noon, want)
		})
	}
}

func TestAnOpenBreakerRefusesUntilItsTimeAndThenGivesOneProbe(t *testing.T) {
	b := opened(t)
	refused(t, b, noon)
	refused(t, b, after(30*sec-1))
	wants(t, b, after(40*sec), breaker.Status{State: breaker.Open, Until: after(30 * sec), Samples: 4, Failures: 4})
	acquire(t, b, after(30*sec))
	refused(t, b, after(30*sec))
	refused(t, b, after(59*sec))
	wants(t, b, after(59*sec), breaker.Status{State: breaker.HalfOpen, Samples: 4, Failures: 4})
	refused(t, b, after(5*time.Hour))
}

func TestTheOutcomeOfTheProbeDecides(t *testing.T) {
	t.Run("a success closes with an empty window", func(t *testing.T) {
		b := opened(t)
		play(t, b, after(30*sec), "S")
		wants(t, b, after(30*sec), breaker.Status{State: breaker.Closed})
		play(t, b, after(31*sec), "FFF")
		wants(t, b, after(31*sec), breaker.Status{State: breaker.Closed, Samples: 3, Failures: 3})
		play(t, b, after(31*sec), "F")
		wants(t, b, after(31*sec), breaker.Status{State: breaker.Open, Until: after(61 * sec), Samples: 4, Failures: 4})
	})
	t.Run("a failure opens again, from the failure on", func(t *testing.T) {
		b := opened(t)
		probe := acquire(t, b, after(30*sec))
		probe.Failure(after(50*sec), boom)
		wants(t, b, after(50*sec), breaker.Status{State: breaker.Open, Until: after(80 * sec), Samples: 5, Failures: 5})
		refused(t, b, after(80*sec-1))
		play(t, b, after(80*sec), "S")
		wants(t, b, after(80*sec), breaker.Status{State: breaker.Closed})
	})
	t.Run("a release leaves the decision to the next probe", func(t *testing.T) {
		b := opened(t)
		play(t, b, after(30*sec), "RRR")
		wants(t, b, after(30*sec), breaker.Status{State: breaker.HalfOpen, Samples: 4, Failures: 4})
		play(t, b, after(30*sec), "S")
		wants(t, b, after(30*sec), breaker.Status{State: breaker.Closed})
	})
}

func TestAskingForTheStatusChangesNothing(t *testing.T) {
	b := opened(t)
	b.Status(after(20 * time.Hour))
	wants(t, b, noon, breaker.Status{State: breaker.Open, Until: after(30 * sec), Samples: 4, Failures: 4})
	refused(t, b, after(30*sec-1))
}

func TestTunedThresholdsApplyFromTheNextOutcomeOn(t *testing.T) {
	standard := breaker.Default()
	t.Run("closed, it opens with the next outcome", func(t *testing.T) {
		b := breaker.New(standard)
		play(t, b, noon, "FFF")
		b.Tune(standard.With(breaker.MinSamples(2), breaker.OpenFor(7*sec)))
		wants(t, b, noon, breaker.Status{Samples: 3, Failures: 3})
		play(t, b, noon, "S")
		wants(t, b, noon, breaker.Status{State: breaker.Open, Until: after(7 * sec), Samples: 4, Failures: 3})
	})
	t.Run("closed, it stays so with a higher threshold", func(t *testing.T) {
		b := breaker.New(standard)
		play(t, b, noon, "FFF")
		b.Tune(standard.With(breaker.Threshold(0.99), breaker.MinSamples(5)))
		play(t, b, noon, "FS")
		wants(t, b, noon, breaker.Status{Samples: 5, Failures: 4})
	})
	t.Run("open, it is so until its old time, and then for the new one", func(t *testing.T) {
		b := opened(t)
		b.Tune(standard.With(breaker.OpenFor(sec)))
		refused(t, b, after(30*sec-1))
		play(t, b, after(30*sec), "F")
		wants(t, b, after(30*sec), breaker.Status{State: breaker.Open, Until: after(31 * sec), Samples: 5, Failures: 5})
	})
	t.Run("half-open, the probe still decides", func(t *testing.T) {
		b := opened(t)
		probe := acquire(t, b, after(30*sec))
		b.Tune(standard.With(breaker.MinSamples(100), breaker.OpenFor(sec)))
		refused(t, b, after(30*sec))
		probe.Failure(after(30*sec), boom)
		wants(t, b, after(30*sec), breaker.Status{State: breaker.Open, Until: after(31 * sec), Samples: 5, Failures: 5})
	})
}

func TestTurningABreakerOffClosesIt(t *testing.T) {
	off := breaker.Default().With(breaker.Off())
	t.Run("an open breaker", func(t *testing.T) {
		b := opened(t)
		b.Tune(off)
		wants(t, b, noon, breaker.Status{State: breaker.Closed})
		play(t, b, noon, "FFFFFF")
		wants(t, b, noon, breaker.Status{State: breaker.Closed, Samples: 6, Failures: 6})
	})
	t.Run("a half-open breaker, whose probe then decides nothing", func(t *testing.T) {
		b := opened(t)
		probe := acquire(t, b, after(30*sec))
		b.Tune(off)
		b.Tune(breaker.Default())
		probe.Failure(after(30*sec), boom)
		wants(t, b, after(30*sec), breaker.Status{State: breaker.Closed})
	})
	t.Run("and on again, it opens with the next outcome", func(t *testing.T) {
		b := breaker.New(off)
		play(t, b, noon, "FFFF")
		b.Tune(breaker.Default())
		wants(t, b, noon, breaker.Status{State: breaker.Closed, Samples: 4, Failures: 4})
		play(t, b, noon, "F")
		wants(t, b, noon, breaker.Status{State: breaker.Open, Until: after(30 * sec), Samples: 5, Failures: 5})
	})
}

func TestStatesHaveNames(t *testing.T) {
	for state, want := range map[breaker.State]string{
		breaker.Closed: "closed", breaker.Open: "open", breaker.HalfOpen: "half-open", 9: "State(9)",
	} {
		if got := state.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestAPolicyThatIsNotValidDoesNotPanic(t *testing.T) {
	for _, p := range []breaker.Policy{{}, {Window: -1, OpenFor: -1, MinSamples: -1, Threshold: -1}, {Window: 1, OpenFor: 1 << 62}} {
		b := breaker.New(p)
		for i := range 5 {
			now := after(time.Duration(i) * time.Hour)
			if permit, ok := b.Acquire(now, work.Add(1)); ok {
				permit.Failure(now, boom)
			}
			b.Tune(p.With(breaker.Window(time.Duration(i - 2))))
		}
	}
}
