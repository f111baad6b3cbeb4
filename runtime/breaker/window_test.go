package breaker_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime/breaker"
)

// The window of these tests slides in steps of a second, from noon on.
func TestOutcomesLeaveTheWindowWithTheirStep(t *testing.T) {
	tests := []struct {
		name         string
		at           time.Duration // when the outcome comes
		last, gone   time.Duration // the last moment at which it counts, and the next
		otherOutcome time.Duration // of something that keeps the window busy
	}{
		{"from the beginning of a step it counts for all of the window", 0, 59*sec + 999*time.Millisecond, 60 * sec, 0},
		{"from its end it counts for a 60th less", 1*sec - 1, 60*sec - 1, 60 * sec, 0},
		{"in a later step", 7*sec + 1, 67*sec - 1, 67 * sec, 3 * sec},
		{"after a pause longer than the window", 200 * sec, 260*sec - 1, 260 * sec, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := breaker.New(breaker.Default())
			play(t, b, noon, "R") // time begins
			if tt.otherOutcome > 0 {
				play(t, b, after(tt.otherOutcome), "S")
			}
			play(t, b, after(tt.at), "F")
			if got := b.Status(after(tt.last)).Failures; got != 1 {
				t.Errorf("%d failures at %v, want 1", got, tt.last)
			}
			if got := b.Status(after(tt.gone)).Failures; got != 0 {
				t.Errorf("%d failures at %v, want 0", got, tt.gone)
			}
		})
	}
}

func TestOldFailuresDoNotOpenABreaker(t *testing.T) {
	t.Run("those that have left the window", func(t *testing.T) {
		b := breaker.New(breaker.Default())
		play(t, b, noon, "FFF")
		play(t, b, after(60*sec), "FFF")
		wants(t, b, after(60*sec), breaker.Status{Samples: 3, Failures: 3})
	})
	t.Run("those in it do", func(t *testing.T) {
		b := breaker.New(breaker.Default())
		play(t, b, noon, "FFF")
		play(t, b, after(60*sec-1), "F")
		wants(t, b, after(60*sec-1), breaker.Status{State: breaker.Open, Until: after(90*sec - 1), Samples: 4, Failures: 4})
	})
	t.Run("one every twenty seconds never opens", func(t *testing.T) {
		b := breaker.New(breaker.Default())
		for i := range 100 {
			play(t, b, after(time.Duration(i)*20*sec), "F")
		}
	})
}

// Ages are known to a second here, so one outcome that is as old as the new
// window is taken for a younger one.
func TestAnotherWindowKeepsTheOutcomesThatFitIt(t *testing.T) {
	tests := []struct {
		window time.Duration
		want   int // of 50 outcomes, one each second, the newest just now
	}{
		{60 * sec, 50},
		{24 * time.Hour, 50},
		{20 * sec, 20 + 1},
		{1 * sec, 1 + 1},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.window), func(t *testing.T) {
			policy := breaker.Default().With(breaker.Off())
			b := breaker.New(policy)
			for i := range 50 {
				play(t, b, after(time.Duration(i)*sec), "S")
			}
			now := after(49 * sec)
			b.Tune(policy.With(breaker.Window(tt.window)))
			wants(t, b, now, breaker.Status{Samples: tt.want})
			if got := b.Status(now.Add(tt.window)).Samples; got != 0 {
				t.Errorf("%d are still there when the window has passed", got)
			}
			if got := b.Status(now.Add(tt.window - tt.window/30)).Samples; got < 1 {
				t.Error("the newest is forgotten before its time")
			}
		})
	}
}

// It counts for 59/60 of the new window, from the end of its step on.
func TestAnOutcomeTooOldForTheNewWindowIsForgotten(t *testing.T) {
	for now, want := range map[time.Duration]int{6900*time.Millisecond - 2: 3, 6900*time.Millisecond - 1: 0, 7*sec - 1: 0} {
		b := breaker.New(breaker.Default())
		play(t, b, noon, "FFF") // taken for a nanosecond less than a second later
		play(t, b, after(now), "R")
		b.Tune(breaker.Default().With(breaker.Window(6 * sec)))
		wants(t, b, after(now), breaker.Status{Samples: want, Failures: want})
	}
}

// Tune does not know the time, but outcomes forgotten by then stay forgotten.
func TestAWiderWindowDoesNotBringBackWhatWasForgotten(t *testing.T) {
	b := breaker.New(breaker.Default())
	play(t, b, noon, "FFF")
	play(t, b, after(60*sec), "R")
	b.Tune(breaker.Default().With(breaker.Window(time.Hour)))
	wants(t, b, after(60*sec), breaker.Status{})
}
