package runtime

import (
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
)

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
