package engine

import (
	"slices"
	"testing"
	"time"
)

func TestAnHourSaysWhichMinutesWereNotCounted(t *testing.T) {
	h := CountHour(time.Date(2026, 3, 14, 12, 0, 30, 0, time.UTC))
	for _, at := range []time.Duration{-time.Hour - time.Second, -time.Hour, -90 * time.Second, -time.Second, time.Minute} {
		h.Publish(h.At.Add(at))
	}
	if h.Published[0] != 1 || h.Published[58] != 1 || h.Published[59] != 2 {
		t.Errorf("published is %v", h.Published)
	}
	h.CountedFrom(h.At.Add(-2 * time.Hour)) // more than the hour was read
	if slices.Contains(h.Published, -1) {
		t.Errorf("all is counted, but %v", h.Published)
	}
	h.CountedFrom(h.At.Add(-80 * time.Second)) // within the minute 58
	if want := append(slices.Repeat([]int{-1}, 59), 2); !slices.Equal(h.Published, want) {
		t.Errorf("published is %v", h.Published)
	}
}
