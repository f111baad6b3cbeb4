package runtime

import (
	"encoding/json"
	"iter"
	"math"
	"sync/atomic"
	"time"
)

// histogramBounds are the upper bounds of the buckets. What took longer than
// the last one is in a bucket of its own.
var histogramBounds = [...]time.Duration{
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

const histogramBuckets = len(histogramBounds) + 1

// Histogram says how long things took. Durations are counted in buckets whose
// upper bounds are 1, 2 and 5 times each power of ten from 10 µs on, up to an
// hour; what took longer is in one more. The zero value is empty. Histograms are
// plain values: they can be copied, compared and added up.
type Histogram struct {
	counts  [histogramBuckets]uint64
	seconds float64
}

// Count returns how many durations there are.
func (h Histogram) Count() (n uint64) {
	for _, count := range h.counts {
		n += count
	}
	return n
}

// Seconds returns the sum of the durations in seconds: of millions of events that
// were hours late it does not fit a [time.Duration].
func (h Histogram) Seconds() float64 { return h.seconds }

// Mean returns the mean of the durations, or 0 if there are none. It is no
// estimate.
func (h Histogram) Mean() time.Duration {
	n := h.Count()
	if n == 0 {
		return 0
	}
	return time.Duration(h.seconds / float64(n) * float64(time.Second))
}

// Quantile estimates the duration that a share q of all do not exceed:
// Quantile(0.99) is the 99th percentile. The estimate lies in the bucket of the
// true one, so it is at most 2.5 times as long or short from 10 µs up to an hour,
// and an hour for all that is longer. It is 0 if there are no durations; a q
// outside of 0 to 1 is taken for the nearer of the two.
func (h Histogram) Quantile(q float64) time.Duration {
	n := h.Count()
	if n == 0 {
		return 0
	}
	rank := uint64(max(1, math.Ceil(min(max(q, 0), 1)*float64(n))))
	var before uint64
	for i, count := range h.counts {
		if before+count < rank {
			before += count
			continue
		}
		low, high := bucketSpan(i)
		share := (float64(rank-before) - 0.5) / float64(count)
		return low + time.Duration(share*float64(high-low))
	}
	return 0 // the ranks end with n
}

// bucketSpan returns the bounds of a bucket. The last one has no width.
func bucketSpan(i int) (low, high time.Duration) {
	if i > 0 {
		low = histogramBounds[i-1]
	}
	return low, histogramBounds[min(i, len(histogramBounds)-1)]
}

// Plus returns the histogram of the durations of both.
func (h Histogram) Plus(other Histogram) Histogram {
	for i, count := range other.counts {
		h.counts[i] += count
	}
	h.seconds += other.seconds
	return h
}

// Buckets returns the upper bound of each bucket, which belongs to it, and how
// many durations are in it, from the shortest on. The bound of the last bucket is
// [Forever].
func (h Histogram) Buckets() iter.Seq2[time.Duration, uint64] {
	return func(yield func(time.Duration, uint64) bool) {
		for i, count := range h.counts {
			bound := Forever
			if i < len(histogramBounds) {
				bound = histogramBounds[i]
			}
			if !yield(bound, count) {
				return
			}
		}
	}
}

// MarshalJSON gives the durations as texts, such as 1.5ms, with some quantiles
// and the buckets that are not empty.
func (h Histogram) MarshalJSON() ([]byte, error) {
	type bucket struct {
		UpTo  string `json:"up_to"`
		Count uint64 `json:"count"`
	}
	buckets := []bucket{}
	for bound, count := range h.Buckets() {
		upTo := "more"
		if bound != Forever {
			upTo = bound.String()
		}
		if count > 0 {
			buckets = append(buckets, bucket{upTo, count})
		}
	}
	text := func(d time.Duration) string { return d.Round(time.Microsecond).String() }
	return json.Marshal(struct {
		Count   uint64   `json:"count"`
		Seconds float64  `json:"seconds"`
		Mean    string   `json:"mean"`
		P50     string   `json:"p50"`
		P90     string   `json:"p90"`
		P99     string   `json:"p99"`
		Buckets []bucket `json:"buckets"`
	}{h.Count(), h.seconds, text(h.Mean()), text(h.Quantile(0.5)), text(h.Quantile(0.9)), text(h.Quantile(0.99)), buckets})
}

// histogram is a [Histogram] that durations are added to, by many goroutines at
// once and without allocating.
type histogram struct {
	counts [histogramBuckets]atomic.Uint64
	short  atomic.Uint64 // the sum of what took less than a second, in nanoseconds
	long   atomic.Uint64 // and of the rest, in microseconds, so that it does not overflow
}

// add counts one duration. A negative one, which a clock that was set back can
// make, counts as none.
func (h *histogram) add(d time.Duration) {
	d = max(d, 0)
	i := 0 // most things take little, so this is faster than it looks
	for i < len(histogramBounds) && histogramBounds[i] < d {
		i++
	}
	h.counts[i].Add(1)
	if d < time.Second {
		h.short.Add(uint64(d))
	} else {
		h.long.Add(uint64(d / time.Microsecond))
	}
}

func (h *histogram) snapshot() (s Histogram) {
	for i := range h.counts {
		s.counts[i] = h.counts[i].Load()
	}
	s.seconds = float64(h.short.Load())/1e9 + float64(h.long.Load())/1e6
	return s
}
