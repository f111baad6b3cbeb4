package breaker

import "time"

// slack is how far out of order readings may be. Goroutines read the time
// before they get the lock, so an older reading may come after a newer one. A
// reading that is older by more than slack means that the clock was set back.
const slack = time.Second

// farthest limits a step ahead, so that an absurd reading does not overflow.
const farthest = 365 * 24 * time.Hour

// clock turns readings of the time into a time that never goes back. After the
// wall clock was set back, it continues from the new reading, so it does not stop.
type clock struct {
	started bool
	last    time.Time     // the newest reading
	elapsed time.Duration // from the first reading to it
}

// read returns the time from the first reading to now.
func (c *clock) read(now time.Time) time.Duration {
	if !c.started {
		c.started, c.last = true, now
	}
	if d := now.Sub(c.last); d > 0 || d < -slack {
		c.last = now
		c.elapsed += min(max(d, 0), farthest)
	}
	return c.elapsed
}

// moment is the inverse of read, for moments near the newest reading.
func (c *clock) moment(elapsed time.Duration) time.Time {
	return c.last.Add(elapsed - c.elapsed)
}
