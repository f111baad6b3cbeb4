package observe_test

import (
	"encoding/json"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/internal/histogram"
	"github.com/busgen/busgen/runtime/observe"
)

// histogramOf returns the histogram of these durations, as subscriptions make it.
func histogramOf(durations ...time.Duration) observe.Histogram {
	var r histogram.Recorder
	for _, d := range durations {
		r.Add(d)
	}
	return observe.HistogramOf(&r)
}

func TestADurationIsCountedInTheBucketItsBoundBelongsTo(t *testing.T) {
	for d, want := range map[time.Duration]time.Duration{
		-time.Hour:              10 * time.Microsecond,
		0:                       10 * time.Microsecond,
		10 * time.Microsecond:   10 * time.Microsecond,
		10*time.Microsecond + 1: 20 * time.Microsecond,
		3 * time.Millisecond:    5 * time.Millisecond,
		time.Second:             time.Second,
		time.Second + 1:         2 * time.Second,
		45 * time.Minute:        time.Hour,
		time.Hour:               time.Hour,
		time.Hour + 1:           time.Duration(math.MaxInt64),
		math.MaxInt64:           time.Duration(math.MaxInt64),
	} {
		found := 0
		for bound, count := range histogramOf(d).Buckets() {
			if found += int(count); count > 0 && bound != want {
				t.Errorf("%v is in the bucket up to %v, want %v", d, bound, want)
			}
		}
		if found != 1 {
			t.Errorf("%v is counted %d times", d, found)
		}
	}
}

func TestTheBucketsOfAHistogramFollowEachOtherClosely(t *testing.T) {
	var bounds []time.Duration
	for bound := range histogramOf().Buckets() {
		bounds = append(bounds, bound)
	}
	if first, last := bounds[0], bounds[len(bounds)-2]; first != 10*time.Microsecond || last != time.Hour {
		t.Errorf("the bounds go from %v to %v", first, last)
	}
	for i := 1; i < len(bounds)-1; i++ {
		if factor := float64(bounds[i]) / float64(bounds[i-1]); factor <= 1 || factor > 2.5 {
			t.Errorf("%v follows %v", bounds[i], bounds[i-1])
		}
	}
}

// durations are of all magnitudes that matter.
func durations() *rapid.Generator[[]time.Duration] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) time.Duration {
		return time.Duration(rapid.Int64Range(1, 999).Draw(t, "digits")) * time.Duration(math.Pow10(rapid.IntRange(0, 11).Draw(t, "zeros")))
	}), 1, 200)
}

func TestAQuantileIsInTheBucketOfTheTrueOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := durations().Draw(t, "durations")
		q := rapid.Float64Range(-0.5, 1.5).Draw(t, "q")
		got := histogramOf(all...).Quantile(q)
		slices.Sort(all)
		rank := int(math.Ceil(min(max(q, 0), 1) * float64(len(all))))
		exact := all[max(rank-1, 0)]
		low := time.Duration(0)
		for bound := range histogramOf().Buckets() {
			if exact > bound {
				low = bound
				continue
			}
			if high := min(bound, time.Hour); got < low || got > high {
				t.Fatalf("the %v quantile of %v is %v, estimated as %v", q, all, exact, got)
			}
			break
		}
	})
}

func TestAHistogramOfBothIsTheSumOfTwo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := durations().Draw(t, "a"), durations().Draw(t, "b")
		sum, both := histogramOf(a...).Plus(histogramOf(b...)), histogramOf(append(a, b...)...)
		if off := math.Abs(sum.Seconds() - both.Seconds()); off > both.Seconds()*1e-9 {
			t.Fatalf("%v seconds in both, and %v in their sum", both.Seconds(), sum.Seconds())
		}
		for q := 0.0; q <= 1; q += 0.125 {
			if sum.Quantile(q) != both.Quantile(q) {
				t.Fatalf("the %v quantile of both is %v, and %v of their sum", q, both.Quantile(q), sum.Quantile(q))
			}
		}
		if n := uint64(len(a) + len(b)); sum.Count() != n || both.Count() != n {
			t.Fatalf("%d durations are %d in one and %d in the sum", n, both.Count(), sum.Count())
		}
	})
}

func TestTheMeanIsNoEstimateAndDoesNotOverflow(t *testing.T) {
	if mean := histogramOf(time.Microsecond, 2*time.Microsecond, 6*time.Microsecond).Mean(); mean != 3*time.Microsecond {
		t.Errorf("the mean of 1, 2 and 6 µs is %v", mean)
	}
	const century = 100 * 365 * 24 * time.Hour
	h := histogramOf(slices.Repeat([]time.Duration{century}, 100)...)
	if h = h.Plus(h); h.Count() != 200 || h.Mean() != century {
		t.Errorf("the mean of %d centuries is %v", h.Count(), h.Mean())
	}
	empty := histogramOf()
	if empty != (observe.Histogram{}) || empty.Mean() != 0 || empty.Quantile(0.5) != 0 || empty.Count() != 0 || empty.Seconds() != 0 {
		t.Errorf("an empty histogram is %+v", empty)
	}
}

func TestAHistogramAsJSONSaysWhatAPersonWantsToKnow(t *testing.T) {
	encoded, err := json.Marshal(histogramOf(3*time.Millisecond, 4*time.Millisecond, 2*time.Hour))
	conformance.Must(t, err)
	want := `{"count":3,"seconds":7200.007,"mean":"40m0.002333s","p50":"4.25ms","p90":"1h0m0s","p99":"1h0m0s",` +
		`"buckets":[{"up_to":"5ms","count":2},{"up_to":"more","count":1}]}`
	if string(encoded) != want {
		t.Errorf("got  %s\nwant %s", encoded, want)
	}
}
