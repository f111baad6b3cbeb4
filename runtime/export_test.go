package runtime

import "time"

// HistogramOf returns the histogram of these durations, as subscriptions make it.
func HistogramOf(durations ...time.Duration) Histogram {
	var h histogram
	for _, d := range durations {
		h.add(d)
	}
	return h.snapshot()
}
