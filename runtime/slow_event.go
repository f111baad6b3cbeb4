package runtime

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/dispatch"
	"github.com/busgen/busgen/runtime/observe"
)

// slowEvents are events of a subscription that were reported as slow and are not settled.
// It has none until one is slow, and its memory is bounded: what it forgets may be
// reported again.
type slowEvents struct {
	some     atomic.Bool // there are any
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
	e.some.Store(true)
	return true
}

func (e *slowEvents) remove(id uuid.UUID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.reported, id)
	e.some.Store(len(e.reported) > 0)
}

// noteSlowEvent logs an event that has failed again, if it is slow and was not reported. Then observers are to be told. A stored
// step is progress, so it is tried in vain since then.
func (c *counter) noteSlowEvent(a *dispatch.Attempt, failure *event.FailedAttempt, due time.Time) (age time.Duration, slow bool) {
	limit := (*innerSubscription)(c).settingsOf(a.Type).SlowEventAfter
	age = failure.Ended.Sub(a.Since)
	if limit == 0 || age < limit || failure.Ended.Sub(a.WentOn()) < limit || !c.counts.slowEvents.add(a.ID) {
		return age, false
	}
	c.bus.config.logger.Warn("an event is slow: it was tried in vain for a long time", "event_id", a.ID, "event_type", a.Type,
		"subscription_id", c.name, "attempt", a.Number, "age", age, "due", due, "error", c.bus.shown(a.Delivery, failure.Error))
	return age, true
}

// SlowEvent implements [dispatch.Counter].
func (c *counter) SlowEvent(a *dispatch.Attempt, age, running time.Duration) (told func()) {
	if !c.counts.slowEvents.add(a.ID) {
		return nil
	}
	c.bus.config.logger.Warn("an event is slow: its handler has been at work for a long time", "event_id", a.ID, "event_type", a.Type,
		"subscription_id", c.name, "attempt", a.Number, "age", age, "running", running)
	return c.slowEvent(a, age, running)
}

// slowEvent returns what tells observers of an event that is slow without a failure.
func (c *counter) slowEvent(a *dispatch.Attempt, age, took time.Duration) (told func()) {
	if !c.bus.observers.any() {
		return nil
	}
	info := c.info(a, a.Started(), took)
	return func() { tell(&c.bus.observers, toSlowEvent, observe.SlowEventInfo{AttemptInfo: info, Age: age}) }
}

// noteQueued logs an event that was handled at the first attempt and had to wait for that for a long time. With a backlog
// that are many: the first one is logged, and the next one when another was handled in time since.
func (c *counter) noteQueued(a *dispatch.Attempt, ended time.Time) {
	waited, queue := a.Started().Sub(a.Since), &c.counts.queued
	if limit := a.SlowEventAfter(); limit == 0 || waited < limit {
		if queue.Load() {
			queue.Store(false)
		}
		return
	}
	if a.Failures > 0 || a.Snoozes > 0 || !a.WentOn().IsZero() || queue.Swap(true) {
		return
	}
	c.bus.config.logger.Warn("an event is slow: it has waited for a long time before it was tried", "event_id", a.ID, "event_type", a.Type,
		"subscription_id", c.name, "waited", waited)
	if told := c.slowEvent(a, ended.Sub(a.Since), ended.Sub(a.Started())); told != nil {
		go told()
	}
}

// settled forgets an event that was perhaps reported.
func (c *counter) settled(a *dispatch.Attempt) {
	if c.counts.slowEvents.some.Load() {
		c.counts.slowEvents.remove(a.ID)
	}
}
