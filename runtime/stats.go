package runtime

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/busgen/busgen/internal/setting"
	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/observe"
)

// Stats holds the counts since the bus was opened, and the settings in force. Its JSON has
// durations as texts. Package expvar publishes it with
//
//	expvar.Publish("events", expvar.Func(func() any { return bus.Stats() }))
type Stats struct {
	Recovery observe.Recovery    `json:"recovery"` // what Start found; zero before
	Types    []observe.TypeStats `json:"types"`    // in the order of the catalogue, then by name
	// Refused counts events that were not stored, those of a [Transact] included, by what the error of the call was:
	// disk_full, busy and the other faults of a [event.StorageError]; invalid, too_large, metadata, option, middleware,
	// conflict, unknown_type, pending, hop_limit, attempt_over, shutdown, cancelled and other.
	Refused       map[string]uint64   `json:"refused"`
	Subscriptions []SubscriptionStats `json:"subscriptions"`    // in the order in which they were made, [Ephemeral] ones after the others
	Outbox        *observe.Outbox     `json:"outbox,omitempty"` // nil without an outbox
}

// SubscriptionStats counts for one subscription, and says what applies to it.
type SubscriptionStats struct {
	Name    string `json:"name"`
	Pattern string `json:"pattern"`
	Group   string `json:"group,omitempty"`
	// Ephemeral says that it was made with [Ephemeral]: Name is a label that others may
	// have, too, and Dead counts what was dropped.
	Ephemeral bool `json:"ephemeral,omitempty"`
	// Paused says that nothing is delivered: the subscription, its group, or all
	// of its event types are paused.
	Paused bool `json:"paused"`
	// Concurrency is how many handlers of the subscription, or of its group, run at once.
	Concurrency int `json:"concurrency"`
	// NextConcurrency is what it will be when the program subscribes again, because [Bus.Tune]
	// has changed it. 0 if it stays.
	NextConcurrency int `json:"next_concurrency,omitempty"`
	// StrictOrder says that the subscription, or its group, has a strict order.
	StrictOrder bool `json:"strict_order,omitempty"`
	// NextStrictOrder says whether it will have one when the program subscribes again, because
	// [Bus.Tune] has changed it. Nil if it stays.
	NextStrictOrder *bool `json:"next_strict_order,omitempty"`
	// Saturated says that its handlers, or those of its group, are busy all the time while its
	// backlog grows, as the health checks saw it last.
	Saturated bool `json:"saturated,omitempty"`
	// Limited is how many of its deliveries, or of those of its group, wait for a [declare.Limit] at this
	// moment, of the 256 that it has in memory at most. They are overtaken by others. Those of
	// batches are not counted.
	Limited int `json:"limited,omitempty"`
	// Stalls is how many times it, or its group, had something to handle, a free worker and no reason to wait, and
	// began nothing until the bus looked again, after 5 seconds. That is a fault of busgen: it is 0.
	Stalls int64 `json:"stalls,omitempty"`
	// Breaker is its circuit breaker. If it has one for each key, it is the one that opened first of those that are not closed.
	Breaker observe.BreakerStatus `json:"breaker"`
	// OpenBreakers are those of keys that are not closed, the one that opened first first, 20 at most. MoreBreakers is how many
	// there are besides.
	OpenBreakers []observe.BreakerStatus `json:"open_breakers,omitempty"`
	MoreBreakers int                     `json:"more_breakers,omitempty"`
	observe.Counts
	Rates observe.Rates `json:"rates"`
	// Latency is the time from the publication of an event (its due time, if it
	// was delayed; its last retry by hand, if it was dead) until it was handled.
	Latency observe.Histogram `json:"latency"`
	// Handler is the time that handlers took, whatever they returned. Of one that
	// outlived its deadline it is the time until then.
	Handler observe.Histogram `json:"handler"`
	// Batches counts the batches of a subscription that has them; nil for others.
	Batches *observe.BatchStats `json:"batches,omitempty"`
	// Settings are in force at the moment, by event type: those of the catalogue
	// or what it was tuned to, under the options of the subscription. A member of
	// a group has the Retry, ExpiresAfter and MaxSnoozes of its group. Rules for errors
	// that are options ([WithPermanentErrors], [WithErrorRetry]) are not shown.
	Settings map[string]declare.Settings `json:"settings"`
}

// Stats returns the counts at this moment. It costs next to nothing, because all of it is
// in memory. [Bus.Lag] reads the file, which has the backlogs for all processes.
func (b *Bus) Stats() Stats { return busOf(b).stats() }

func (b *innerBus) stats() Stats {
	b.mu.Lock()
	defer b.mu.Unlock()
	stats := Stats{Recovery: b.recovery, Types: b.counters.snapshot(), Refused: b.refusals.snapshot(), Subscriptions: []SubscriptionStats{}}
	if b.config.relay != nil {
		stats.Outbox = new(b.config.relay.Status())
	}
	now := time.Now()
	for _, s := range b.subscriptions {
		stats.Subscriptions = append(stats.Subscriptions, s.stats(now))
	}
	for _, f := range b.ephemeralFeeds() {
		stats.Subscriptions = append(stats.Subscriptions, (*f.members.Load())[0].stats(now))
	}
	return stats
}

func (s *innerSubscription) stats(now time.Time) SubscriptionStats {
	counts := s.counts.counts.snapshot()
	concurrency, strict, limited, stalls := s.feed.places, s.feed.strict, 0, int64(0)
	if s.feed.scheduler == nil {
		members := *s.feed.members.Load()
		concurrency, strict = concurrencyOf(members), strictOf(members)
	} else {
		limited, stalls = s.feed.scheduler.Limited(), s.feed.scheduler.Stalls()
	}
	status := breakerStatus(s.breaker.Status(now))
	keys, more := s.openKeys()
	if len(keys) > 0 {
		status = keys[0]
	}
	return SubscriptionStats{
		OpenBreakers: keys, MoreBreakers: more,
		Concurrency: concurrency, NextConcurrency: s.feed.nextPlaces(*s.feed.members.Load()), StrictOrder: strict, NextStrictOrder: s.feed.nextStrict(*s.feed.members.Load()),
		Saturated: s.feed.saturated.Load(),
		Name:      s.name, Pattern: s.pattern, Group: s.config.group, Ephemeral: s.config.ephemeral, Paused: s.feed.paused.Load(),
		Limited: limited, Stalls: stalls, Batches: s.batchStats(),
		Breaker: status, Counts: counts, Rates: counts.Rates(),
		Latency: observe.HistogramOf(&s.counts.latency), Handler: observe.HistogramOf(&s.counts.handler), Settings: s.settings(),
	}
}

// openKeys returns the breakers of keys that are not closed, and how many there are besides.
func (s *innerSubscription) openKeys() (keys []observe.BreakerStatus, more int) {
	if s.inForce.Load().breaker.By == "" {
		return nil, 0
	}
	open, more := s.open.list()
	for _, one := range open {
		status := breakerStatus(one.Status)
		status.Key = one.key
		keys = append(keys, status)
	}
	return keys, more
}

func breakerStatus(s breaker.Status) observe.BreakerStatus {
	return observe.BreakerStatus{
		State: s.State.String(), Since: s.Since.UTC(), Until: s.Until.UTC(),
		Samples: s.Samples, Failures: s.Failures, LastError: s.LastFailure,
	}
}

// settings returns what is in force, by event type.
func (s *innerSubscription) settings() map[string]declare.Settings {
	settings := maps.Clone(s.inForce.Load().types)
	if !s.feed.group {
		return settings
	}
	for eventType, merged := range *s.feed.settings.Load() {
		if one, ok := settings[eventType]; ok {
			one.Retry = merged.Retry
			for i, row := range setting.Plain {
				if n, has := inDispatcher.Get(merged, i); has && row.InGroup != setting.Each {
					inSettings.Put(&one, i, n)
				}
			}
			settings[eventType] = one
		}
	}
	return settings
}

// Lag returns the backlog of every subscription of the file, in the order in which they
// were made, also of those without a handler. It reads the file, which takes longer for
// larger backlogs; dispositions of the last few milliseconds may be missing. The error is a *[event.StorageError], or
// [ErrShutdown].
func (b *Bus) Lag(ctx context.Context) ([]event.Lag, error) { return busOf(b).lag(ctx) }

func (b *innerBus) lag(ctx context.Context) ([]event.Lag, error) {
	found, err := b.log.Subscriptions(ctx, observe.MaxBacklog)
	if err != nil {
		return nil, public(err)
	}
	b.mu.Lock()
	feeds := b.feeds
	b.mu.Unlock()
	lags := make([]event.Lag, len(found))
	for i, one := range found {
		here := slices.ContainsFunc(feeds, func(f *feed) bool { return f.name == one.Name })
		lags[i] = event.Lag{
			Subscription: one.Name, Pattern: one.Pattern, Here: here, Paused: one.Paused, Backlog: one.Backlog,
			Running: one.Running, Waiting: one.Waiting, Suspended: one.Suspended, Held: one.Held, Newer: one.Newer, Dead: one.Dead, Oldest: one.Oldest,
		}
	}
	return lags, nil
}

// sumOf returns the sums.
func sumOf(c, d observe.Counts) observe.Counts {
	return observe.Counts{
		Handled: c.Handled + d.Handled, Recovered: c.Recovered + d.Recovered, Failed: c.Failed + d.Failed,
		Retried: c.Retried + d.Retried, Timeouts: c.Timeouts + d.Timeouts, Dead: c.Dead + d.Dead, Expired: c.Expired + d.Expired,
		Discarded: c.Discarded + d.Discarded, Unrecovered: c.Unrecovered + d.Unrecovered, Snoozed: c.Snoozed + d.Snoozed,
		Slow: c.Slow + d.Slow, Abandoned: c.Abandoned + d.Abandoned,
	}
}

// share returns part of whole, or 0 if there is nothing.
func share(part, whole uint64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// longRunning is how long an attempt runs before the file says so.
const longRunning = time.Second

// activity returns what other processes may want to see.
func (b *innerBus) activity() (now engine.Activity) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.subscriptions {
		open, more := s.open.list()
		for i, status := range open {
			one := event.Breaker{
				Subscription: s.name, Group: s.config.group, Key: status.key, State: status.State.String(), Since: status.Since.UTC(),
				Failures: status.Failures, Deliveries: status.Samples, LastError: status.LastFailure,
			}
			if status.State == breaker.Open {
				one.Until = status.Until.UTC()
			}
			if i == len(open)-1 {
				one.More = more
			}
			now.Breakers = append(now.Breakers, one)
		}
	}
	for _, f := range b.feeds {
		if f.scheduler != nil {
			now.Attempts = f.scheduler.Running(now.Attempts, time.Now(), longRunning)
		}
	}
	now.Unhandled, now.Saturated = b.health.withoutHandler(), b.health.saturatedNow()
	slices.SortStableFunc(now.Attempts, func(a, b event.Running) int { return a.Started.Compare(b.Started) })
	return now
}
