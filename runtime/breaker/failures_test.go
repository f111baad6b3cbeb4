package breaker_test

import (
	"testing"
	"time"

	"github.com/busgen/busgen/runtime/breaker"
)

// try has work succeed or fail.
func try(t *testing.T, b *breaker.Breaker, at time.Duration, work int64, outcome rune) {
	t.Helper()
	end(acquireFor(t, b, after(at), work), outcome, after(at))
}

func TestWorkThatIsTriedAgainIsOneSample(t *testing.T) {
	t.Run("failures of one piece do not open", func(t *testing.T) {
		b := breaker.New(breaker.Default())
		for i := range time.Duration(1000) {
			try(t, b, i*sec/10, 7, 'F')
		}
		wants(t, b, after(100*sec), breaker.Status{Samples: 1, Failures: 1})
	})
	t.Run("it takes as many different pieces as it says", func(t *testing.T) {
		b := breaker.New(breaker.Default())
		for work := range int64(4) {
			wants(t, b, noon, breaker.Status{Samples: int(work), Failures: int(work)})
			try(t, b, 0, 1+work, 'F')
			if work < 3 {
				try(t, b, 0, 1+work, 'F')
			}
		}
		wants(t, b, noon, breaker.Status{State: breaker.Open, Until: after(30 * sec), Samples: 4, Failures: 4})
	})
	t.Run("work without a number is never the same", func(t *testing.T) {
		b := breaker.New(breaker.Default())
		for range 4 {
			try(t, b, 0, 0, 'F')
		}
		wants(t, b, noon, breaker.Status{State: breaker.Open, Until: after(30 * sec), Samples: 4, Failures: 4})
	})
}

func TestTheLatestOutcomeOfWorkCounts(t *testing.T) {
	t.Run("a success replaces its failure", func(t *testing.T) {
		b := breaker.New(breaker.Default())
		for work := range int64(3) {
			try(t, b, 0, 1+work, 'F')
		}
		for work := range int64(3) {
			try(t, b, sec, 1+work, 'S')
		}
		wants(t, b, after(sec), breaker.Status{Samples: 3})
		try(t, b, 2*sec, 9, 'F')
		wants(t, b, after(2*sec), breaker.Status{Samples: 4, Failures: 1})
	})
	t.Run("an outcome is as old as the latest try", func(t *testing.T) {
		for _, outcome := range "FS" {
			b := breaker.New(breaker.Default())
			try(t, b, 0, 1, 'F')
			try(t, b, 50*sec, 1, outcome)
			if got := b.Status(after(109 * sec)).Samples; got != 1 {
				t.Errorf("a %c of a minute ago: %d samples, want 1", outcome, got)
			}
			wants(t, b, after(110*sec), breaker.Status{})
		}
	})
	t.Run("a failure that has left the window is not taken back", func(t *testing.T) {
		b := breaker.New(breaker.Default())
		try(t, b, 0, 1, 'F')
		try(t, b, 60*sec, 1, 'F')
		wants(t, b, after(60*sec), breaker.Status{Samples: 1, Failures: 1})
		try(t, b, 60*sec, 1, 'S')
		wants(t, b, after(60*sec), breaker.Status{Samples: 1})
	})
	t.Run("also in a window of another length", func(t *testing.T) {
		b := breaker.New(breaker.Default())
		for work := range int64(3) {
			try(t, b, 0, 1+work, 'F')
		}
		b.Tune(breaker.Default().With(breaker.Window(time.Hour)))
		for work := range int64(3) {
			try(t, b, 30*time.Minute, 1+work, 'F')
		}
		wants(t, b, after(30*time.Minute), breaker.Status{Samples: 3, Failures: 3})
	})
}

func TestAProbeThatFailsIsASample(t *testing.T) {
	b := opened(t)
	play(t, b, after(100*sec), "F")
	wants(t, b, after(100*sec), breaker.Status{State: breaker.Open, Until: after(130 * sec), Samples: 1, Failures: 1})
	if got := b.Status(after(100 * sec)).Since; !got.Equal(noon) {
		t.Errorf("it is open since %v, want noon", got)
	}
}

func TestAResetClosesABreaker(t *testing.T) {
	t.Run("an open breaker, at once", func(t *testing.T) {
		b := opened(t)
		if !b.Reset() {
			t.Error("the reset of an open breaker reports false")
		}
		wants(t, b, noon, breaker.Status{})
		play(t, b, noon, "FFF")
		wants(t, b, noon, breaker.Status{Samples: 3, Failures: 3})
	})
	t.Run("a half-open breaker, whose probe then decides nothing", func(t *testing.T) {
		b := opened(t)
		probe := acquire(t, b, after(30*sec))
		b.Reset()
		probe.Failure(after(30*sec), boom)
		wants(t, b, after(30*sec), breaker.Status{})
	})
	t.Run("not a closed breaker", func(t *testing.T) {
		b := breaker.New(breaker.Default())
		play(t, b, noon, "FFF")
		if b.Reset() {
			t.Error("the reset of a closed breaker reports true")
		}
		wants(t, b, noon, breaker.Status{Samples: 3, Failures: 3})
	})
}

// More than can be remembered fail again and again.
func TestTheNumberOfRememberedFailuresIsBounded(t *testing.T) {
	b := breaker.New(breaker.Default().With(breaker.Off()))
	for round := range time.Duration(3) {
		for work := range int64(breaker.LimitSamples + 5) {
			try(t, b, round*sec, 1+work, 'F')
		}
	}
	most := breaker.LimitSamples + 3*5
	wants(t, b, after(2*sec), breaker.Status{Samples: most, Failures: most})
	try(t, b, 100*sec, 1, 'S') // long after
	wants(t, b, after(100*sec), breaker.Status{Samples: 1})
}
