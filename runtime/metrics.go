package runtime

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// Var returns the statistics of the bus as a variable whose String is the JSON of
// its [Stats]. It fits package expvar, which this package does not import because
// that serves HTTP:
//
//	expvar.Publish("events", bus.Var())
func (b *Bus) Var() fmt.Stringer { return statsVar{b} }

type statsVar struct{ bus *Bus }

// String returns the JSON of the statistics at this moment.
func (v statsVar) String() string {
	encoded, err := json.Marshal(v.bus.Stats())
	if err != nil { // numbers and texts can be encoded
		return "null"
	}
	return string(encoded)
}

// WriteMetrics writes the statistics of the bus, its health, and where the
// subscriptions of the file stand, in the text format of Prometheus
// (text/plain; version=0.0.4). Names begin with busgen_, times are in seconds.
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
	m.subscriptions(stats.Subscriptions)
	m.lags(lags, time.Now())
	m.health(b.Health())
	_, err = w.Write(m.text.Bytes())
	return err
}

// metrics is text in the making.
type metrics struct{ text bytes.Buffer }

// countMetrics are the counts that event types and subscriptions have in common.
var countMetrics = []struct {
	name, help string
	of         func(Counts) uint64
}{
	{"handled", "Handlers that succeeded.", func(c Counts) uint64 { return c.Handled }},
	{"recovered", "Handlers that succeeded after a failed attempt.", func(c Counts) uint64 { return c.Recovered }},
	{"failed", "Attempts that failed.", func(c Counts) uint64 { return c.Failed }},
	{"retried", "Failed attempts that are tried again.", func(c Counts) uint64 { return c.Retried }},
	{"timeouts", "Attempts that outlived their deadline.", func(c Counts) uint64 { return c.Timeouts }},
	{"dead", "Deliveries that became dead letters.", func(c Counts) uint64 { return c.Dead }},
	{"expired", "Deliveries that became dead letters because they were not handled in time.", func(c Counts) uint64 { return c.Expired }},
	{"discarded", "Deliveries that handlers discarded.", func(c Counts) uint64 { return c.Discarded }},
	{"unrecovered", "Deliveries that were dead or discarded after they had been retried.", func(c Counts) uint64 { return c.Unrecovered }},
	{"snoozed", "Attempts that handlers put off.", func(c Counts) uint64 { return c.Snoozed }},
	{"slow", "Attempts that were slow.", func(c Counts) uint64 { return c.Slow }},
}

func (m *metrics) types(all []TypeStats) {
	m.head("busgen_type_published_total", "counter", "Events stored by this bus.")
	for _, t := range all {
		m.count("busgen_type_published_total", t.Published, "type", t.Type)
	}
	m.head("busgen_type_duplicates_total", "counter", "Events that were not stored because their dedupe key was known.")
	for _, t := range all {
		m.count("busgen_type_duplicates_total", t.Duplicates, "type", t.Type)
	}
	for _, c := range countMetrics {
		name := "busgen_type_" + c.name + "_total"
		m.head(name, "counter", c.help)
		for _, t := range all {
			m.count(name, c.of(t.Counts), "type", t.Type)
		}
	}
}

func (m *metrics) subscriptions(all []SubscriptionStats) {
	for _, c := range countMetrics {
		name := "busgen_" + c.name + "_total"
		m.head(name, "counter", c.help)
		for _, s := range all {
			m.count(name, c.of(s.Counts), labelsOf(s)...)
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
		m.head(g.name, "gauge", g.help)
		for _, s := range all {
			m.value(g.name, g.of(s), labelsOf(s)...)
		}
	}
	m.head("busgen_latency_seconds", "histogram", "Time from the publication of an event until it was handled.")
	for _, s := range all {
		m.histogram("busgen_latency_seconds", s.Latency, labelsOf(s))
	}
	m.head("busgen_handler_seconds", "histogram", "Time that handlers took.")
	for _, s := range all {
		m.histogram("busgen_handler_seconds", s.Handler, labelsOf(s))
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
		m.head(g.name, "gauge", g.help)
		for _, l := range all {
			m.value(g.name, g.of(l), "subscription", l.Subscription)
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
	m.head("busgen_health_exceeded", "gauge", "1 if the threshold of a health check is exceeded.")
	for _, c := range h.Checks {
		m.value("busgen_health_exceeded", bit(c.Exceeded), "check", c.Name)
	}
}

func bit(set bool) float64 {
	if set {
		return 1
	}
	return 0
}

// head begins a metric.
func (m *metrics) head(name, kind, help string) {
	fmt.Fprintf(&m.text, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

// histogram writes cumulative buckets.
func (m *metrics) histogram(name string, h Histogram, labels []string) {
	var n uint64
	for bound, count := range h.Buckets() {
		le := "+Inf"
		if bound != Forever {
			le = number(bound.Seconds())
		}
		n += count
		m.count(name+"_bucket", n, append(labels[:len(labels):len(labels)], "le", le)...)
	}
	m.value(name+"_sum", h.Seconds(), labels...)
	m.count(name+"_count", n, labels...)
}

func (m *metrics) value(name string, v float64, labels ...string) {
	m.sample(name, number(v), labels)
}

func (m *metrics) count(name string, n uint64, labels ...string) {
	m.sample(name, strconv.FormatUint(n, 10), labels)
}

// sample writes a line. Labels that are empty are left out, as if they were not
// there.
func (m *metrics) sample(name, value string, labels []string) {
	m.text.WriteString(name)
	separator := byte('{')
	for i := 0; i < len(labels); i += 2 {
		if labels[i+1] == "" {
			continue
		}
		m.text.WriteByte(separator)
		fmt.Fprintf(&m.text, `%s="%s"`, labels[i], labelEscaper.Replace(labels[i+1]))
		separator = ','
	}
	if separator == ',' {
		m.text.WriteByte('}')
	}
	fmt.Fprintf(&m.text, " %s\n", value)
}

var labelEscaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
