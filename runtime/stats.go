package runtime

import (
	"maps"
	"time"

	"github.com/busgen/busgen/runtime/breaker"
)

// Stats are counts since the bus was opened, and what applies at the moment. The
// JSON of Stats, which [Bus.Var] prints, has durations as texts.
type Stats struct {
	Recovery      Recovery            `json:"recovery"`      // what Start found; zero before
	Types         []TypeStats         `json:"types"`         // in the order of the catalogue, then by name
	Subscriptions []SubscriptionStats `json:"subscriptions"` // in the order in which they were made
}

// Recovery is what [Bus.Start] found in the file.
type Recovery struct {
	Interrupted int   `json:"interrupted"` // deliveries whose handler ran when the last process died
	Waiting     int   `json:"waiting"`     // deliveries that wait for a retry
	Dead        int   `json:"dead"`        // dead letters
	Backlog     int64 `json:"backlog"`     // how many events the slowest subscription is behind, at most
}

// TypeStats counts for one event type, over all subscriptions of this bus.
type TypeStats struct {
	Type          string  `json:"type"`
	Published     uint64  `json:"published"`      // events stored by this bus; those of handlers count when they succeed
	Duplicates    uint64  `json:"duplicates"`     // events published again with the same dedupe key, and not stored
	DuplicateRate float64 `json:"duplicate_rate"` // duplicates, of both
	Counts
	Rates Rates `json:"rates"`
}

// SubscriptionStats counts for one subscription, and says what applies to it.
type SubscriptionStats struct {
	Name    string `json:"name"`
	Pattern string `json:"pattern"`
	Group   string `json:"group,omitempty"`
	// Paused says that nothing is delivered: the subscription, its group, or all
	// of its event types are paused.
	Paused  bool          `json:"paused"`
	Breaker BreakerStatus `json:"breaker"`
	Counts
	Rates Rates `json:"rates"`
	// Latency is the time from the publication of an event (its due time, if it
	// was delayed; its last retry by hand, if it was dead) until it was handled.
	Latency Histogram `json:"latency"`
	// Handler is the time that handlers took, whatever they returned. Of one that
	// outlived its deadline it is the time until then.
	Handler Histogram `json:"handler"`
	// Settings are in force at the moment, by event type: those of the catalogue
	// or what it was tuned to, under the options of the subscription. A member of
	// a group has the Retry, ExpiresAfter, MaxSnoozes and FailureThrottle of its group. Rules for errors
	// that are options ([WithPermanentErrors], [WithErrorRetry]) are not shown.
	Settings map[string]Settings `json:"settings"`
}

// BreakerStatus is the state of a circuit breaker.
type BreakerStatus struct {
	State    string    `json:"state"`          // closed, open or half-open
	Since    time.Time `json:"since,omitzero"` // when it opened, if it is not closed; UTC
	Until    time.Time `json:"until,omitzero"` // when an open one tries the next event; UTC
	Samples  int       `json:"samples"`        // deliveries with an outcome in its window
	Failures int       `json:"failures"`       // of those, by their latest outcome
	// LastError is that of the last failure since it was closed.
	LastError string `json:"last_error,omitempty"`
}

// Stats returns the counts at this moment. It costs next to nothing: all of it
// is in memory. What is in the file, for other processes too, is what [Bus.Lag]
// returns.
func (b *Bus) Stats() Stats {
	b.mu.Lock()
	defer b.mu.Unlock()
	stats := Stats{Recovery: b.recovery, Types: b.counters.snapshot(), Subscriptions: []SubscriptionStats{}}
	now := time.Now()
	for _, s := range b.subscriptions {
		stats.Subscriptions = append(stats.Subscriptions, s.stats(now))
	}
	return stats
}

func (s *Subscription) stats(now time.Time) SubscriptionStats {
	counts := s.counts.counts.snapshot()
	return SubscriptionStats{
		Name: s.name, Pattern: s.pattern, Group: s.config.group, Paused: s.feed.paused.Load(),
		Breaker: breakerStatus(s.breaker.Status(now)), Counts: counts, Rates: counts.Rates(),
		Latency: s.counts.latency.snapshot(), Handler: s.counts.handler.snapshot(), Settings: s.settings(),
	}
}

func breakerStatus(s breaker.Status) BreakerStatus {
	return BreakerStatus{
		State: s.State.String(), Since: s.Since.UTC(), Until: s.Until.UTC(),
		Samples: s.Samples, Failures: s.Failures, LastError: s.LastFailure,
	}
}

// settings returns what is in force, by event type.
func (s *Subscription) settings() map[string]Settings {
	settings := maps.Clone(s.inForce.Load().types)
	if !s.feed.group {
		return settings
	}
	for eventType, merged := range *s.feed.settings.Load() {
		if one, ok := settings[eventType]; ok {
			one.Retry, one.ExpiresAfter, one.MaxSnoozes, one.FailureThrottle = merged.Retry, merged.ExpiresAfter, merged.MaxSnoozes, merged.FailureThrottle
			settings[eventType] = one
		}
	}
	return settings
}
