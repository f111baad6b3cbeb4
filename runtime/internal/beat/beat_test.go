package beat

import (
	"testing"
	"testing/synctest"
	"time"
)

const period = 200 * time.Millisecond

func TestWhatBeganAtAnyTimeWakesTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var woken []time.Time
		for _, began := range []time.Duration{0, time.Nanosecond, 50 * time.Millisecond, 60 * time.Millisecond} {
			time.Sleep(began)
			left := Until(period)
			if left <= 0 || left > period {
				t.Errorf("it is %v until the next beat, want at most %v", left, period)
			}
			woken = append(woken, time.Now().Add(left))
		}
		for _, at := range woken[1:] {
			if !at.Equal(woken[0]) {
				t.Errorf("woken at %v, want one moment", woken)
			}
		}
	})
}

// Whoever looks at each beat, and whoever looks when one has passed, has never looked longer
// ago than a period.
func TestABeatPassesOnceInAPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		last, looks := time.Now(), 0
		for range 10_000 { // ten seconds
			time.Sleep(time.Millisecond)
			if Passed(last, period) {
				last = time.Now()
				looks++
			}
			if time.Since(last) >= period {
				t.Fatalf("the last look was %v ago", time.Since(last))
			}
		}
		if looks != 50 {
			t.Errorf("there were %d looks in ten seconds, want 50", looks)
		}
		time.Sleep(Until(period))
		if last := time.Now(); Passed(last, period) {
			t.Error("no time has passed since the last look")
		}
		// The wall clock was set back to the same beat.
		if last := time.Now(); !Passed(last.Add(-period), period) {
			t.Error("a period has passed since the last look")
		}
	})
}
