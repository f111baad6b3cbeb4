package runtime

import (
	"cmp"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/dispatch"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// slowEvents are events of a subscription that were reported as slow and are not settled.
// It has none until one is slow, and its memory is bounded: what it forgets may be
// reported again.
type slowEvents struct {
	mu       sync.Mutex
	reported map[uuid.UUID]struct{}
}

// slowEventsLimit is how many slow events a subscription remembers.
const slowEventsLimit = 10_000

// add reports whether the event is new.
func (e *slowEvents) add(id uuid.UUID) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, known := e.reported[id]; known {
		return false
	}
	if e.reported == nil || len(e.reported) >= slowEventsLimit {
		e.reported = map[uuid.UUID]struct{}{}
	}
	e.reported[id] = struct{}{}
	return true
}

func (e *slowEvents) remove(id uuid.UUID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.reported, id)
}

// noteSlowEvent logs an event that has failed again, if it is slow and was not reported. Then observers are to be told.
func (c *counter) noteSlowEvent(a *dispatch.Attempt, failure *engine.FailedAttempt, due time.Time) (age time.Duration, slow bool) {
	limit := cmp.Or((*innerSubscription)(c).settingsOf(a.Type).SlowEventAfter, c.bus.config.slowEventAfter)
	age = failure.Ended.Sub(a.Since)
	if limit == 0 || age < limit || !c.counts.slowEvents.add(a.ID) {
		return age, false
	}
	c.bus.config.logger.Warn("an event is slow: it was tried in vain for a long time", "event_id", a.ID, "event_type", a.Type,
		"subscription_id", c.name, "attempt", a.Number, "age", age, "due", due, "error", c.bus.shown(a.Delivery, failure.Error))
	return age, true
}

// settled forgets an event that was perhaps reported. Those that have not failed before were not.
func (c *counter) settled(a *dispatch.Attempt) {
	if a.Failures > 0 {
		c.counts.slowEvents.remove(a.ID)
	}
}
