package chart

import "testing"

func TestMinutesThatWereNotCountedHaveTheRightNumber(t *testing.T) {
	for n, want := range map[int]string{
		1: "none; the first minute was not counted",
		2: "none; the first 2 minutes were not counted",
	} {
		minutes := make([]int, 60)
		for i := range n {
			minutes[i] = -1
		}
		if got := SparkOf("Events", "event", minutes).Words; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
