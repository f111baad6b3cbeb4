package dispatch

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// CrashLoop keeps events from dying of a process that ends again and again for a reason of its
// own, while they happen to be handled: a port is in use, a setting is missing. If the last
// process has died young, a delivery for which another crash would be the last attempt waits
// until this one has lived for so long. A process that ends by itself does not get there. One
// that an event ends does, and then dies of the event.
//
// Everything else is delivered meanwhile: it has attempts left.
type CrashLoop struct {
	until atomic.Pointer[time.Time] // nil for no loop
}

// Begin says that the last process has died young, and until when this one is young.
func (c *CrashLoop) Begin(until time.Time) { c.until.Store(&until) }

// Until returns until when deliveries wait, or the zero time if none does. A log may keep times to the microsecond
// only: one that was put off may come back by that much too early, and must not be put off again.
func (c *CrashLoop) Until() time.Time {
	if c == nil {
		return time.Time{}
	}
	until := c.until.Load()
	if until == nil || !time.Now().Before(until.Add(-time.Microsecond)) {
		return time.Time{}
	}
	return *until
}

// loops returns until when a delivery waits, or the zero time if it may be tried now.
func (s *Scheduler) loops(i item) time.Time {
	until := s.cfg.CrashLoop.Until()
	if until.IsZero() {
		return until
	}
	policy, failures := s.cfg.Settings(i.Type).Retry, i.Failures+1
	if i.Crashed && policy.Exhausted(i.Failures) {
		return time.Time{} // it becomes a dead letter
	}
	if i.Suspect && !i.Crashed { // a crash in which it ran with others counts with the next one
		failures++
	}
	if !policy.Exhausted(failures) {
		return time.Time{}
	}
	return until
}

// triedBefore tells whether a delivery has a row for its failures, or for the crash of which it is a suspect.
func triedBefore(i item) bool { return i.Failures > 0 || i.Suspect }

// putOff puts a delivery off that waits until this process is no more young. It reports false
// for one that was never tried: all of its kind wait, in the queue and not with a row each.
func (s *Scheduler) putOff(i item, until time.Time) bool {
	if !triedBefore(i) {
		return false
	}
	s.cfg.Logger.Info("a delivery waits until this process has lived for a while: it has one attempt left, and the last process ended soon after its start",
		"event_id", i.ID, "event_type", i.Type, "subscription_id", s.cfg.Name, "until", until)
	s.settle(&i, engine.Disposition{Kind: engine.Snooze, Due: until, NotCalled: true, Progress: i.Progress})
	return true
}

// keyLoops tells whether the key of a delivery must not be computed yet: that calls the program, and a crash meanwhile
// would be its last attempt.
func (s *Scheduler) keyLoops(i item) bool {
	if s.loops(i).IsZero() {
		return false
	}
	_, known := s.queue.awaitedKey(i.Seq)
	return s.callsForKeys(i, known)
}

// withoutLooping returns the deliveries whose keys may be computed, in their order: those that have to wait for the end
// of a crash loop, and were tried before, are put off. If others have to wait it returns all, and false: in a strict
// order nobody knows for which keys the delivery holds up what comes, and of those that were never tried all wait.
func (s *Scheduler) withoutLooping(items []item) (rest []item, ok bool) {
	until := s.cfg.CrashLoop.Until()
	if until.IsZero() {
		return items, true
	}
	waits := func(i item) bool { return s.keyLoops(i) && (s.cfg.Strict || !triedBefore(i)) }
	if slices.ContainsFunc(items, waits) {
		return items, false
	}
	return slices.DeleteFunc(items, func(i item) bool { return s.keyLoops(i) && s.putOff(i, until) }), true
}

// untilLoopEnds says when a crash loop ends, if there is one.
func (s *Scheduler) untilLoopEnds() <-chan time.Time {
	until := s.cfg.CrashLoop.Until()
	if until.IsZero() {
		return nil
	}
	return time.After(time.Until(until))
}
