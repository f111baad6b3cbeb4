package runtime

import "time"

// WithWallClock gives the bus a wall clock that a test can set.
func WithWallClock(now func() time.Time) Option {
	return func(c *config) error {
		c.wall = now
		return nil
	}
}

// HistogramOf returns the histogram of these durations, as subscriptions make it.
func HistogramOf(durations ...time.Duration) Histogram {
	var h histogram
	for _, d := range durations {
		h.add(d)
	}
	return h.snapshot()
}
