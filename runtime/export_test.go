package runtime

import (
	"time"

	"github.com/busgen/busgen/runtime/internal/histogram"
)

// HistogramOf returns the histogram of these durations, as subscriptions make it.
func HistogramOf(durations ...time.Duration) Histogram {
	var r histogram.Recorder
	for _, d := range durations {
		r.Add(d)
	}
	return histogramOf(&r)
}
