package runtime

import (
	"context"
	"encoding/json"
	"io"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/internal/histogram"
	"github.com/busgen/busgen/runtime/internal/prometheus"
)

// WriteMetrics writes the statistics of the bus, its health, and where the
// subscriptions of the file stand, in the text format of Prometheus
// (text/plain; version=0.0.4). Names begin with busgen_, times are in seconds.
//
// [Ephemeral] subscriptions count for their event types only: there may be thousands, with
// names that are not unique.
//
// It reads the file as [Bus.Lag] does; on an error of that nothing is written. A
// bus that was shut down returns [ErrShutdown].
func (b *Bus) WriteMetrics(ctx context.Context, w io.Writer) error {
	lags, err := b.Lag(ctx)
	if err != nil {
		return err
	}
	stats := b.Stats()
	var m metrics
	m.types(stats.Types)
	m.subscriptions(slices.DeleteFunc(stats.Subscriptions, func(s SubscriptionStats) bool { return s.Ephemeral }))
	m.lags(lags, time.Now())
	m.health(b.Health())
	_, err = w.Write(m.Bytes())
	return err
}

// metrics is text in the making.
type metrics struct{ prometheus.Text }

// countMetrics are the counts that event types and subscriptions have in common.
var countMetrics = []struct {
	name, help string
	of         func(Counts) uint64
}{
	{"handled", "Handlers that succeeded.", func(c Counts) uint64 { return c.Handled }},
	{"recovered", "Handlers that succeeded after a failed attempt.", func(c Counts) uint64 { return c.Recovered }},
	{"failed", "Attempts that failed.", func(c Counts) uint64 { return c.Failed }},
	{"retried", "Failed attempts that are retried.", func(c Counts) uint64 { return c.Retried }},
	{"timeouts", "Attempts that outlived their deadline.", func(c Counts) uint64 { return c.Timeouts }},
	{"dead", "Deliveries that became dead letters.", func(c Counts) uint64 { return c.Dead }},
	{"expired", "Deliveries that became dead letters because they were not handled in time.", func(c Counts) uint64 { return c.Expired }},
	{"discarded", "Deliveries that handlers discarded.", func(c Counts) uint64 { return c.Discarded }},
	{"unrecovered", "Deliveries that were dead or discarded after they had been retried.", func(c Counts) uint64 { return c.Unrecovered }},
	{"snoozed", "Attempts that handlers put off.", func(c Counts) uint64 { return c.Snoozed }},
	{"slow", "Attempts that were slow.", func(c Counts) uint64 { return c.Slow }},
}

func (m *metrics) types(all []TypeStats) {
	m.Head("busgen_type_published_total", "counter", "Events stored by this bus.")
	for _, t := range all {
		m.Count("busgen_type_published_total", t.Published, "type", t.Type)
	}
	m.Head("busgen_type_duplicates_total", "counter", "Events that were not stored because their dedupe key was known.")
	for _, t := range all {
		m.Count("busgen_type_duplicates_total", t.Duplicates, "type", t.Type)
	}
	for _, c := range countMetrics {
		name := "busgen_type_" + c.name + "_total"
		m.Head(name, "counter", c.help)
		for _, t := range all {
			m.Count(name, c.of(t.Counts), "type", t.Type)
		}
	}
}

func (m *metrics) subscriptions(all []SubscriptionStats) {
	for _, c := range countMetrics {
		name := "busgen_" + c.name + "_total"
		m.Head(name, "counter", c.help)
		for _, s := range all {
			m.Count(name, c.of(s.Counts), labelsOf(s)...)
		}
	}
	gauges := []struct {
		name, help string
		of         func(SubscriptionStats) float64
	}{
		{"busgen_abandoned", "Handlers that ignored their deadline and still run.", func(s SubscriptionStats) float64 { return float64(s.Abandoned) }},
		{"busgen_paused", "1 if nothing is delivered because of a pause.", func(s SubscriptionStats) float64 { return bit(s.Paused) }},
		{"busgen_breaker_open", "1 if the circuit breaker is open or half-open.", func(s SubscriptionStats) float64 { return bit(s.Breaker.State != "closed") }},
	}
	for _, g := range gauges {
		m.Head(g.name, "gauge", g.help)
		for _, s := range all {
			m.Gauge(g.name, g.of(s), labelsOf(s)...)
		}
	}
	m.Head("busgen_latency_seconds", "histogram", "Time from the publication of an event until it was handled.")
	for _, s := range all {
		m.durations("busgen_latency_seconds", s.Latency, labelsOf(s))
	}
	m.Head("busgen_handler_seconds", "histogram", "Time that handlers took.")
	for _, s := range all {
		m.durations("busgen_handler_seconds", s.Handler, labelsOf(s))
	}
}

func labelsOf(s SubscriptionStats) []string {
	return []string{"subscription", s.Name, "group", s.Group}
}

func (m *metrics) lags(all []Lag, now time.Time) {
	gauges := []struct {
		name, help string
		of         func(Lag) float64
	}{
		{"busgen_backlog", "Events that are not settled.", func(l Lag) float64 { return float64(l.Backlog) }},
		{"busgen_running", "Handlers that have been running for 5 ms or more.", func(l Lag) float64 { return float64(l.Running) }},
		{"busgen_waiting", "Events that wait for a retry, a delay or a snooze.", func(l Lag) float64 { return float64(l.Waiting) }},
		{"busgen_held", "Events that wait because their type is paused.", func(l Lag) float64 { return float64(l.Held) }},
		{"busgen_dead_letters", "Dead letters.", func(l Lag) float64 { return float64(l.Dead) }},
		{"busgen_oldest_seconds", "Age of the oldest event that is not settled.", func(l Lag) float64 { return l.age(now).Seconds() }},
	}
	for _, g := range gauges {
		m.Head(g.name, "gauge", g.help)
		for _, l := range all {
			m.Gauge(g.name, g.of(l), "subscription", l.Subscription)
		}
	}
}

// age returns how old the oldest event of the backlog is; 0 without a backlog.
func (l Lag) age(now time.Time) time.Duration {
	if l.Oldest.IsZero() {
		return 0
	}
	return max(now.Sub(l.Oldest), 0)
}

func (m *metrics) health(h HealthStatus) {
	m.Head("busgen_health_exceeded", "gauge", "1 if the threshold of a health check is exceeded.")
	for _, c := range h.Checks {
		m.Gauge("busgen_health_exceeded", bit(c.Exceeded), "check", c.Name)
	}
}

func bit(set bool) float64 {
	if set {
		return 1
	}
	return 0
}

// durations writes a histogram, in seconds.
func (m *metrics) durations(name string, h Histogram, labels []string) {
	m.Histogram(name, func(yield func(float64, uint64) bool) {
		for bound, count := range h.Buckets() {
			seconds := bound.Seconds()
			if bound == Forever {
				seconds = math.Inf(1)
			}
			if !yield(seconds, count) {
				return
			}
		}
	}, h.Seconds(), labels)
}

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
// [Forever].
func (h Histogram) Buckets() iter.Seq2[time.Duration, uint64] {
	return func(yield func(time.Duration, uint64) bool) {
		for i, count := range h.counts {
			bound := Forever
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

// histogramOf returns the histogram of what was recorded so far.
func histogramOf(r *histogram.Recorder) (h Histogram) {
	h.counts, h.seconds = r.Snapshot()
	return h
}
