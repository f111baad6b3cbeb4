package memory

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
)

// openOf returns the events that a subscription has yet to settle, in no order.
func (s *store) openOf(sub *subscription) (open []*engine.Record) {
	for _, d := range sub.deliveries {
		if d.State.Open() {
			open = append(open, d.Record)
		}
	}
	s.eachFrom(sub.next, func(r *engine.Record) {
		if sub.routes[r.Type] && sub.passes(r) {
			open = append(open, r)
		}
	})
	return open
}

// oldestOf returns when the oldest of events was published; zero if there is none.
func oldestOf(events []*engine.Record) (oldest time.Time) {
	for _, r := range events {
		if oldest.IsZero() || r.CreatedAt.Before(oldest) {
			oldest = r.CreatedAt
		}
	}
	return oldest
}

// Pending implements [engine.Meter].
func (l *Log) Pending(_ context.Context, limit int) (most int, err error) {
	if err := l.enter(); err != nil {
		return 0, err
	}
	defer l.mu.Unlock()
	for _, sub := range l.subscriptions {
		most = max(most, len(l.openOf(sub)))
	}
	return min(most, limit), nil
}

// runningDelay is how long an attempt runs before Lags counts it.
const runningDelay = 5 * time.Millisecond

// Subscriptions implements [engine.Meter].
func (l *Log) Subscriptions(_ context.Context, limit int) (lags []engine.SubscriptionState, err error) {
	if err := l.enter(); err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	for _, sub := range l.subscriptions {
		lag := l.lagOf(sub, limit)
		lag.Name = l.nameHere(sub)
		lags = append(lags, lag)
	}
	return lags, nil
}

// lagOf counts for one subscription.
func (s *store) lagOf(sub *subscription, limit int) engine.SubscriptionState {
	open := s.openOf(sub)
	lag := engine.SubscriptionState{
		Name: sub.name, Pattern: sub.pattern, Backlog: min(len(open), limit), BacklogAtMost: len(open), Oldest: oldestOf(open),
		Paused: s.pauseAt(engine.Pause{Kind: engine.PauseSubscription, Target: sub.name}) >= 0,
	}
	for _, d := range sub.deliveries {
		switch {
		case d.by != nil:
			if !d.started.IsZero() && time.Since(d.started) >= runningDelay {
				lag.Running++
			}
		case d.State == ledger.Waiting:
			lag.Waiting++
		case d.State == ledger.Held:
			if lag.Held++; !d.HeldSince.IsZero() {
				lag.Newer = engine.WithNewer(lag.Newer, engine.Newer{Type: s.nameOf(d.Type), Version: d.Version, Events: 1, Since: d.HeldSince.UTC()})
			}
		case d.State == ledger.Dead:
			lag.Dead++
		}
	}
	return lag
}

// Unhandled implements [engine.Meter].
func (l *Log) Unhandled(_ context.Context, handled []engine.Consumer, after int64, relevant func(string) bool) (found engine.Unhandled, err error) {
	if err := l.enter(); err != nil {
		return found, err
	}
	defer l.mu.Unlock()
	found.Last = l.last
	for _, sub := range l.subscriptions {
		here := slices.ContainsFunc(handled, func(c engine.Consumer) bool { return c.(*consumer).sub == sub })
		if open := l.openOf(sub); !here && len(open) > 0 {
			found.Consumers = append(found.Consumers, engine.Backlog{Name: sub.name, Pattern: sub.pattern, Oldest: oldestOf(open)})
		}
	}
	types := map[string]bool{}
	l.eachFrom(after+1, func(r *engine.Record) {
		routed := slices.ContainsFunc(l.subscriptions, func(sub *subscription) bool { return sub.routes[r.Type] })
		if name := l.here[r.Type]; !routed && name[0] != engine.OwnType && relevant(name) {
			types[name] = true
		}
	})
	found.Types = slices.Sorted(maps.Keys(types))
	return found, nil
}
