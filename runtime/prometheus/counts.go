package busprom

import (
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/observe"
)

// counted are the counts that event types and subscriptions have in common.
var counted = []struct {
	of     func(observe.Counts) uint64
	byType *prometheus.Desc
	byName *prometheus.Desc
}{
	counter("handled", "Handlers that succeeded.", func(c observe.Counts) uint64 { return c.Handled }),
	counter("recovered", "Handlers that succeeded after a failed attempt.", func(c observe.Counts) uint64 { return c.Recovered }),
	counter("failed", "Attempts that failed.", func(c observe.Counts) uint64 { return c.Failed }),
	counter("retried", "Failed attempts that are retried.", func(c observe.Counts) uint64 { return c.Retried }),
	counter("timeouts", "Attempts that outlived their deadline.", func(c observe.Counts) uint64 { return c.Timeouts }),
	counter("dead", "Deliveries that became dead letters.", func(c observe.Counts) uint64 { return c.Dead }),
	counter("expired", "Deliveries that became dead letters because they were not handled in time.", func(c observe.Counts) uint64 { return c.Expired }),
	counter("discarded", "Deliveries that handlers discarded.", func(c observe.Counts) uint64 { return c.Discarded }),
	counter("unrecovered", "Deliveries that were dead or discarded after they had been retried.", func(c observe.Counts) uint64 { return c.Unrecovered }),
	counter("snoozed", "Attempts that handlers put off.", func(c observe.Counts) uint64 { return c.Snoozed }),
	counter("slow", "Attempts that were slow.", func(c observe.Counts) uint64 { return c.Slow }),
}

func counter(name, help string, of func(observe.Counts) uint64) struct {
	of     func(observe.Counts) uint64
	byType *prometheus.Desc
	byName *prometheus.Desc
} {
	return struct {
		of     func(observe.Counts) uint64
		byType *prometheus.Desc
		byName *prometheus.Desc
	}{of, metric("busgen_type_"+name+"_total", help, "type"), metric("busgen_"+name+"_total", help, "subscription", "group")}
}

var (
	published  = metric("busgen_type_published_total", "Events stored by this bus.", "type")
	duplicates = metric("busgen_type_duplicates_total", "Events that were not stored because their dedupe key was known.", "type")

	attempts      = metric("busgen_attempts_total", "Attempts that are over, by what came of them.", "subscription", "group", "outcome")
	latency       = metric("busgen_latency_seconds", "Time from the publication of an event until it was handled.", "subscription", "group")
	handling      = metric("busgen_handler_seconds", "Time that handlers took.", "subscription", "group")
	abandoned     = metric("busgen_abandoned", "Handlers that ignored their deadline and still run.", "subscription", "group")
	paused        = metric("busgen_paused", "1 if nothing is delivered because of a pause.", "subscription", "group")
	breakerOpen   = metric("busgen_breaker_open", "1 if the circuit breaker is open or half-open.", "subscription", "group")
	breakerState  = metric("busgen_breaker_state", "1 for the state that the circuit breaker is in.", "subscription", "group", "state")
	keysOpen      = metric("busgen_breaker_keys_open", "Keys whose circuit breaker is open or half-open.", "subscription", "group")
	keyOpen       = metric("busgen_breaker_open_seconds", "For how long the circuit breaker of a key is not closed; the 20 longest of a subscription.", "subscription", "group", "key")
	concurrency   = metric("busgen_concurrency", "Handlers that may run at once.", "subscription", "group")
	limited       = metric("busgen_limited", "Deliveries in memory that wait for a limit.", "subscription", "group")
	saturated     = metric("busgen_saturated", "1 if the handlers are busy all the time and the backlog grows.", "subscription", "group")
	batches       = metric("busgen_batches_total", "Batches that are over.", "subscription", "group")
	batchEvents   = metric("busgen_batch_events_total", "Events of batches, each as often as it was tried.", "subscription", "group")
	batchTimeouts = metric("busgen_batch_timeouts_total", "Batches that outlived their deadline.", "subscription", "group")
)

// Of a bus with an outbox.
var (
	outboxRelayed  = metric("busgen_outbox_relayed_total", "Events that this bus has brought to itself from its outbox.")
	outboxRelaying = metric("busgen_outbox_relaying", "1 if this process brings the events of the outbox.")
	outboxWaiting  = metric("busgen_outbox_waiting_seconds", "For how long the oldest event has been waiting in the outbox.")
)

// ofType is what is added up for a type, or for all others.
type ofType struct {
	published, duplicates uint64
	counts                observe.Counts
}

// collectCounts collects what is in memory.
func (c *Collector) collectCounts(s *sink) error {
	stats := c.bus.Stats()
	for reason, n := range stats.Refused {
		s.count(refused, n, reason)
	}
	types, order := map[string]*ofType{}, []string{}
	for _, t := range stats.Types {
		name := c.types.of(t.Type)
		sum := types[name]
		if sum == nil {
			sum = &ofType{}
			types[name], order = sum, append(order, name)
		}
		sum.published += t.Published
		sum.duplicates += t.Duplicates
		sum.counts = plus(sum.counts, t.Counts)
	}
	for _, name := range order {
		sum := types[name]
		s.count(published, sum.published, name)
		s.count(duplicates, sum.duplicates, name)
		for _, one := range counted {
			s.count(one.byType, one.of(sum.counts), name)
		}
	}
	if o := stats.Outbox; o != nil {
		s.count(outboxRelayed, o.Relayed)
		s.gauge(outboxRelaying, bit(o.Relaying))
		s.gauge(outboxWaiting, o.Waiting(time.Now()).Seconds())
	}
	rest := runtime.SubscriptionStats{Name: others}
	any := false
	for _, one := range stats.Subscriptions {
		switch {
		case one.Ephemeral:
		case c.subscriptions.of(one.Name) == others:
			any = true
			rest.Counts, rest.Latency, rest.Handler = plus(rest.Counts, one.Counts), rest.Latency.Plus(one.Latency), rest.Handler.Plus(one.Handler)
		default:
			one.Name = c.subscriptions.of(one.Name)
			collectSubscription(s, one)
			collectState(s, one)
		}
	}
	if any {
		collectSubscription(s, rest)
	}
	return nil
}

// collectSubscription collects what can be added up over subscriptions.
func collectSubscription(s *sink, one runtime.SubscriptionStats) {
	for _, count := range counted {
		s.count(count.byName, count.of(one.Counts), one.Name, one.Group)
	}
	for _, outcome := range []struct {
		name string
		n    uint64
	}{
		{"handled", one.Handled}, {"retried", one.Retried}, {"failed", less(one.Failed, one.Retried)},
		{"discarded", one.Discarded}, {"snoozed", one.Snoozed},
	} {
		s.count(attempts, outcome.n, one.Name, one.Group, outcome.name)
	}
	s.histogram(latency, one.Latency, one.Name, one.Group)
	s.histogram(handling, one.Handler, one.Name, one.Group)
	if b := one.Batches; b != nil {
		s.count(batches, b.Batches, one.Name, one.Group)
		s.count(batchEvents, b.Events, one.Name, one.Group)
		s.count(batchTimeouts, b.TimedOut, one.Name, one.Group)
	}
}

// collectState collects how one subscription is now.
func collectState(s *sink, one runtime.SubscriptionStats) {
	s.gauge(abandoned, float64(one.Abandoned), one.Name, one.Group)
	s.gauge(paused, bit(one.Paused), one.Name, one.Group)
	s.gauge(breakerOpen, bit(one.Breaker.State != "closed"), one.Name, one.Group)
	for _, state := range []string{"closed", "half-open", "open"} {
		s.gauge(breakerState, bit(one.Breaker.State == state), one.Name, one.Group, state)
	}
	s.gauge(keysOpen, float64(len(one.OpenBreakers)+one.MoreBreakers), one.Name, one.Group)
	for _, b := range one.OpenBreakers {
		s.gauge(keyOpen, max(time.Since(b.Since), 0).Seconds(), one.Name, one.Group, b.Key)
	}
	s.gauge(concurrency, float64(one.Concurrency), one.Name, one.Group)
	s.gauge(limited, float64(one.Limited), one.Name, one.Group)
	s.gauge(saturated, bit(one.Saturated), one.Name, one.Group)
}

// histogram adds a histogram in seconds.
func (s *sink) histogram(desc *prometheus.Desc, h observe.Histogram, labels ...string) {
	buckets := map[float64]uint64{}
	var n uint64
	for bound, count := range h.Buckets() {
		if n += count; bound != runtime.Forever {
			buckets[bound.Seconds()] = n
		}
	}
	if sum := h.Seconds(); !math.IsNaN(sum) {
		s.add(prometheus.NewConstHistogram(desc, n, sum, buckets, labels...))
	}
}

// less returns a - b, or 0: the two are not read at the same moment.
func less(a, b uint64) uint64 {
	if a < b {
		return 0
	}
	return a - b
}

// plus returns the sums.
func plus(c, d observe.Counts) observe.Counts {
	return observe.Counts{
		Handled: c.Handled + d.Handled, Recovered: c.Recovered + d.Recovered, Failed: c.Failed + d.Failed,
		Retried: c.Retried + d.Retried, Timeouts: c.Timeouts + d.Timeouts, Dead: c.Dead + d.Dead, Expired: c.Expired + d.Expired,
		Discarded: c.Discarded + d.Discarded, Unrecovered: c.Unrecovered + d.Unrecovered, Snoozed: c.Snoozed + d.Snoozed, Slow: c.Slow + d.Slow,
	}
}
