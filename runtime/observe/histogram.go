package observe

import (
	"encoding/json"
	"iter"
	"math"
	"time"

	"github.com/busgen/busgen/runtime/internal/histogram"
)

// Histogram says how long things took. Durations are counted in buckets whose
// upper bounds are 1, 2 and 5 times each power of ten from 10 µs on, up to an
// hour; what took longer is in one more. The zero value is empty. Histograms are
// plain values: they can be copied, compared and added up.
type Histogram struct {
	counts  [histogram.Buckets]uint64
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
		low = histogram.Bounds[i-1]
	}
	return low, histogram.Bounds[min(i, len(histogram.Bounds)-1)]
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
// the longest duration.
func (h Histogram) Buckets() iter.Seq2[time.Duration, uint64] {
	return func(yield func(time.Duration, uint64) bool) {
		for i, count := range h.counts {
			bound := time.Duration(math.MaxInt64)
			if i < len(histogram.Bounds) {
				bound = histogram.Bounds[i]
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
		if bound != math.MaxInt64 {
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

// HistogramOf returns the histogram of what a bus has recorded so far.
func HistogramOf(r *histogram.Recorder) (h Histogram) {
	h.counts, h.seconds = r.Snapshot()
	return h
}
