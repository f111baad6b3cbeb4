package runtime

import (
	"fmt"
	"strings"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// crashed reports the deliveries whose handlers ran when the last process died: to
// the log, to the observers and in Stats, before anything runs again.
func (b *Bus) crashed(crashes []engine.Crash) {
	const named = 10
	var together []string
	ran := 0
	for i := range crashes {
		one := &crashes[i]
		ran = one.Ran
		if one.Attempt == nil {
			together = append(together, fmt.Sprintf("%s (%s)", one.ID, one.Subscription))
			continue
		}
		b.crashCounted(one)
	}
	if len(together) > 0 {
		list := strings.Join(together[:min(named, len(together))], ", ")
		if more := len(together) - named; more > 0 {
			list += fmt.Sprintf(" and %d more", more)
		}
		b.config.logger.Warn("the process ended while several handlers were running; it counts for none of them, and they run one at a time now",
			"handlers", ran, "events", list)
	}
}

// crashCounted reports a failed attempt.
func (b *Bus) crashCounted(crash *engine.Crash) {
	s, settings, due := b.reporter(crash), DefaultSettings(), crash.Attempt.Ended
	attributes := []any{"event_id", crash.ID, "event_type", crash.Type, "subscription_id", crash.Subscription, "attempt", crash.Failures + crash.Uncounted}
	if s != nil {
		settings.Retry = s.feed.settingsOf(crash.Type).Retry
		attributes = append(attributes, "max_attempts", settings.Retry.MaxAttempts+crash.Uncounted)
	}
	b.config.logger.Warn("event handler failed", append(attributes, "delay_ms", 0, "error", crash.Attempt.Error)...)
	if s == nil {
		return
	}
	if settings.Retry.Exhausted(crash.Failures) {
		due = time.Time{}
	}
	(*counter)(s).crashed(crash, settings.Retry.MaxAttempts+crash.Uncounted, due)
}

// reporter returns the subscription that counts a crash; nil if this program does
// not have it. In a group nobody knows which member it was: the first one for the
// type counts it.
func (b *Bus) reporter(crash *engine.Crash) *Subscription {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.subscriptions {
		if s.feed.name == crash.Subscription && s.covers(crash.Type) {
			return s
		}
	}
	return nil
}

// crashed counts an attempt that ended with the last process, and tells the
// observers. How long it took is not known.
func (c *counter) crashed(crash *engine.Crash, maxAttempts int, due time.Time) {
	retried := !due.IsZero()
	c.counts.attemptFailed(engine.KindCrash, retried)
	c.ofEventType(crash.Type).attemptFailed(engine.KindCrash, retried)
	info := AttemptInfo{
		ID: crash.ID, Type: crash.Type, PublishedAt: crash.CreatedAt, Subscription: c.name, Group: c.config.group,
		Attempt: crash.Failures + crash.Uncounted, MaxAttempts: maxAttempts,
	}
	tell(&c.bus.observers, toFailed, FailedInfo{AttemptInfo: info, Kind: engine.KindCrash, Error: crash.Attempt.Error})
	if retried {
		tell(&c.bus.observers, toRetrying, RetryingInfo{AttemptInfo: info, Due: due, Error: crash.Attempt.Error})
	}
}
