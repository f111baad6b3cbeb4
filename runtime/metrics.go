package runtime

import (
	"context"
	"io"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/prometheus"
	"github.com/busgen/busgen/runtime/observe"
)

// WriteMetrics writes the statistics of the bus, its health, and where the
// subscriptions of the file stand, in the text format of Prometheus
// (text/plain; version=0.0.4). Names begin with busgen_, times are in seconds.
//
// [Ephemeral] subscriptions count for their event types only: there may be thousands, with
// names that are not unique.
//
// It reads the file as [Bus.Lag] does, and the pauses; on an error of that nothing is
// written. So busgen_scrape_failed and busgen_scrape_stale_seconds are always 0: they are
// there for dashboards and alerts that serve the collector of the nested module
// runtime/prometheus, too. A bus that was shut down returns [ErrShutdown].
func (b *Bus) WriteMetrics(ctx context.Context, w io.Writer) error {
	return busOf(b).writeMetrics(ctx, w)
}

func (b *innerBus) writeMetrics(ctx context.Context, w io.Writer) error {
	lags, err := b.lag(ctx)
	if err != nil {
		return err
	}
	pauses, err := b.pauses(ctx)
	if err != nil {
		return err
	}
	stats := b.stats()
	var m metrics
	m.types(stats.Types)
	m.refused(stats.Refused)
	m.subscriptions(slices.DeleteFunc(stats.Subscriptions, func(s SubscriptionStats) bool { return s.Ephemeral }))
	m.lags(lags, time.Now())
	m.pauses(pauses)
	m.health(b.health.status())
	m.outbox(stats.Outbox)
	m.scrape()
	_, err = w.Write(m.Bytes())
	return err
}

// metrics is text in the making.
type metrics struct{ prometheus.Text }

// countMetrics are the counts that event types and subscriptions have in common.
var countMetrics = []struct {
	name, help string
	of         func(observe.Counts) uint64
}{
	{"handled", "Handlers that succeeded.", func(c observe.Counts) uint64 { return c.Handled }},
	{"recovered", "Handlers that succeeded after a failed attempt.", func(c observe.Counts) uint64 { return c.Recovered }},
	{"failed", "Attempts that failed.", func(c observe.Counts) uint64 { return c.Failed }},
	{"retried", "Failed attempts that are retried.", func(c observe.Counts) uint64 { return c.Retried }},
	{"timeouts", "Attempts that outlived their deadline.", func(c observe.Counts) uint64 { return c.Timeouts }},
	{"dead", "Deliveries that became dead letters.", func(c observe.Counts) uint64 { return c.Dead }},
	{"expired", "Deliveries that became dead letters because they were not handled in time.", func(c observe.Counts) uint64 { return c.Expired }},
	{"discarded", "Deliveries that handlers discarded.", func(c observe.Counts) uint64 { return c.Discarded }},
	{"unrecovered", "Deliveries that were dead or discarded after they had been retried.", func(c observe.Counts) uint64 { return c.Unrecovered }},
	{"snoozed", "Attempts that handlers put off.", func(c observe.Counts) uint64 { return c.Snoozed }},
	{"slow", "Attempts that were slow.", func(c observe.Counts) uint64 { return c.Slow }},
}

func (m *metrics) types(all []observe.TypeStats) {
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

func (m *metrics) refused(by map[string]uint64) {
	m.Head("busgen_refused_total", "counter", "Events that were not stored, by what the error was.")
	for _, reason := range slices.Sorted(maps.Keys(by)) {
		m.Count("busgen_refused_total", by[reason], "reason", reason)
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
		{"busgen_concurrency", "Handlers that may run at once.", func(s SubscriptionStats) float64 { return float64(s.Concurrency) }},
		{"busgen_limited", "Deliveries in memory that wait for a limit.", func(s SubscriptionStats) float64 { return float64(s.Limited) }},
		{"busgen_saturated", "1 if the handlers are busy all the time and the backlog grows.", func(s SubscriptionStats) float64 { return bit(s.Saturated) }},
	}
	for _, g := range gauges {
		m.Head(g.name, "gauge", g.help)
		for _, s := range all {
			m.Gauge(g.name, g.of(s), labelsOf(s)...)
		}
	}
	m.outcomes(all)
	m.breakers(all, time.Now())
	m.batches(all)
	m.Head("busgen_latency_seconds", "histogram", "Time from the publication of an event until it was handled.")
	for _, s := range all {
		m.durations("busgen_latency_seconds", s.Latency, labelsOf(s))
	}
	m.Head("busgen_handler_seconds", "histogram", "Time that handlers took.")
	for _, s := range all {
		m.durations("busgen_handler_seconds", s.Handler, labelsOf(s))
	}
}

func (m *metrics) outcomes(all []SubscriptionStats) {
	m.Head("busgen_attempts_total", "counter", "Attempts that are over, by what came of them.")
	for _, s := range all {
		for _, outcome := range []struct {
			name string
			n    uint64
		}{
			{"handled", s.Handled}, {"retried", s.Retried},
			{"failed", s.Failed - min(s.Failed, s.Retried)}, // the two are not read at the same moment
			{"discarded", s.Discarded}, {"snoozed", s.Snoozed},
		} {
			m.Count("busgen_attempts_total", outcome.n, append(labelsOf(s), "outcome", outcome.name)...)
		}
	}
}

func (m *metrics) breakers(all []SubscriptionStats, now time.Time) {
	m.Head("busgen_breaker_state", "gauge", "1 for the state that the circuit breaker is in.")
	for _, s := range all {
		for _, state := range []string{"closed", "half-open", "open"} {
			m.Gauge("busgen_breaker_state", bit(s.Breaker.State == state), append(labelsOf(s), "state", state)...)
		}
	}
	m.Head("busgen_breaker_keys_open", "gauge", "Keys whose circuit breaker is open or half-open.")
	for _, s := range all {
		m.Gauge("busgen_breaker_keys_open", float64(len(s.OpenBreakers)+s.MoreBreakers), labelsOf(s)...)
	}
	m.Head("busgen_breaker_open_seconds", "gauge", "For how long the circuit breaker of a key is not closed; the 20 longest of a subscription.")
	for _, s := range all {
		for _, one := range s.OpenBreakers {
			m.Gauge("busgen_breaker_open_seconds", max(now.Sub(one.Since), 0).Seconds(), append(labelsOf(s), "key", one.Key)...)
		}
	}
}

func (m *metrics) batches(all []SubscriptionStats) {
	for _, c := range []struct {
		name, help string
		of         func(observe.BatchStats) uint64
	}{
		{"busgen_batches_total", "Batches that are over.", func(b observe.BatchStats) uint64 { return b.Batches }},
		{"busgen_batch_events_total", "Events of batches, each as often as it was tried.", func(b observe.BatchStats) uint64 { return b.Events }},
		{"busgen_batch_timeouts_total", "Batches that outlived their deadline.", func(b observe.BatchStats) uint64 { return b.TimedOut }},
	} {
		m.Head(c.name, "counter", c.help)
		for _, s := range all {
			if s.Batches != nil {
				m.Count(c.name, c.of(*s.Batches), labelsOf(s)...)
			}
		}
	}
}

func labelsOf(s SubscriptionStats) []string {
	return []string{"subscription", s.Name, "group", s.Group}
}

func (m *metrics) lags(all []event.Lag, now time.Time) {
	gauges := []struct {
		name, help string
		of         func(event.Lag) float64
	}{
		{"busgen_backlog", "Events that are not settled.", func(l event.Lag) float64 { return float64(l.Backlog) }},
		{"busgen_running", "Handlers that have been running for 5 ms or more.", func(l event.Lag) float64 { return float64(l.Running) }},
		{"busgen_waiting", "Events that wait for a retry, a delay or a snooze.", func(l event.Lag) float64 { return float64(l.Waiting) }},
		{"busgen_suspended", "Those of the waiting events whose handler waits in a step.", func(l event.Lag) float64 { return float64(l.Suspended) }},
		{"busgen_held", "Events that wait because their type is paused, or their version newer than the program.", func(l event.Lag) float64 { return float64(l.Held) }},
		{"busgen_dead_letters", "Dead letters.", func(l event.Lag) float64 { return float64(l.Dead) }},
		{"busgen_oldest_seconds", "Age of the oldest event that is not settled.", func(l event.Lag) float64 { return ageOf(l, now).Seconds() }},
		{"busgen_unhandled", "1 if this program has no handler for the subscription.", func(l event.Lag) float64 { return bit(!l.Here) }},
	}
	for _, g := range gauges {
		m.Head(g.name, "gauge", g.help)
		for _, l := range all {
			m.Gauge(g.name, g.of(l), "subscription", l.Subscription)
		}
	}
}

func (m *metrics) pauses(all []event.Pause) {
	n := 0
	for _, p := range all {
		if p.Types != "" {
			n++
		}
	}
	m.Head("busgen_type_pauses", "gauge", "Pauses of event types.")
	m.Gauge("busgen_type_pauses", float64(n))
}

func (m *metrics) health(h observe.HealthStatus) {
	m.Head("busgen_stopped", "gauge", "1 if the bus has stopped dispatching by itself.")
	m.Gauge("busgen_stopped", bit(h.Stopped != ""))
	m.Head("busgen_health_exceeded", "gauge", "1 if the threshold of a health check is exceeded.")
	for _, c := range h.Checks {
		m.Gauge("busgen_health_exceeded", bit(c.Exceeded), "check", c.Name)
	}
	for _, c := range h.Checks {
		if c.Name == observe.CheckUnwritable && c.Exceeded {
			m.Head("busgen_unwritable_seconds", "gauge", "For how long nothing could be stored, by the fault; none while it can.")
			m.Gauge("busgen_unwritable_seconds", max(h.At.Sub(c.Since), 0).Seconds(), "fault", c.Mostly)
		}
	}
}

// scrape says that nothing has failed: if something had, there would be no text.
func (m *metrics) scrape() {
	m.Head("busgen_scrape_failed", "gauge", "1 if a part of the metrics could not be collected.")
	for _, part := range []string{"counts", "health", "backlog", "pauses"} {
		m.Gauge("busgen_scrape_failed", 0, "part", part)
	}
	m.Head("busgen_scrape_stale_seconds", "gauge", "Age of the figures that are read from the file.")
	m.Gauge("busgen_scrape_stale_seconds", 0)
}

func bit(set bool) float64 {
	if set {
		return 1
	}
	return 0
}

// durations writes a histogram, in seconds.
func (m *metrics) durations(name string, h observe.Histogram, labels []string) {
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

// ageOf returns how old the oldest event of the backlog is; 0 without a backlog.
func ageOf(l event.Lag, now time.Time) time.Duration {
	if l.Oldest.IsZero() {
		return 0
	}
	return max(now.Sub(l.Oldest), 0)
}
