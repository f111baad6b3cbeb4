// Package histogram counts durations in buckets, from many goroutines at once and
// without allocating.
package histogram

import (
	"sync/atomic"
	"time"
)

// Bounds lists the upper bounds of the buckets. One more bucket counts longer durations.
var Bounds = [...]time.Duration{
	10 * time.Microsecond, 20 * time.Microsecond, 50 * time.Microsecond,
	100 * time.Microsecond, 200 * time.Microsecond, 500 * time.Microsecond,
	time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond,
	10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2 * time.Second, 5 * time.Second,
	10 * time.Second, 20 * time.Second, 50 * time.Second,
	100 * time.Second, 200 * time.Second, 500 * time.Second,
	1000 * time.Second, 2000 * time.Second, 3600 * time.Second,
}

// Buckets is the number of buckets.
const Buckets = len(Bounds) + 1

// Recorder counts durations. The zero Recorder is ready to use.
type Recorder struct {
	counts [Buckets]atomic.Uint64
	short  atomic.Uint64 // the sum of durations below a second, in nanoseconds
	long   atomic.Uint64 // the sum of the others, in microseconds, so that it does not overflow
}

// Add counts one duration. A negative duration counts as zero: it comes from a clock
// that was set back.
func (r *Recorder) Add(d time.Duration) {
	d = max(d, 0)
	i := 0 // most durations are short, so this is faster than a binary search
	for i < len(Bounds) && Bounds[i] < d {
		i++
	}
	r.counts[i].Add(1)
	if d < time.Second {
		r.short.Add(uint64(d))
	} else {
		r.long.Add(uint64(d / time.Microsecond))
	}
}

// Snapshot returns the number of durations in each bucket, and the sum of all
// durations in seconds.
func (r *Recorder) Snapshot() (counts [Buckets]uint64, seconds float64) {
	for i := range r.counts {
		counts[i] = r.counts[i].Load()
	}
	return counts, float64(r.short.Load())/1e9 + float64(r.long.Load())/1e6
}
