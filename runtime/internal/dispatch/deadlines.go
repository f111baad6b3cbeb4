package dispatch

import (
	"sync/atomic"
	"time"
)

// Deadlines are watched for all workers of a subscription together: an attempt
// that ends in time, as nearly all do, costs no timer. The alarm stands at the
// earliest deadline that was known when it was set; when it goes off it ends
// what is late and is set again.

// alarm is a timer that remembers when it goes off. It is guarded by the subscription's mu, but for covers.
type alarm struct {
	ring  func()
	timer *time.Timer
	began time.Time
	at    atomic.Int64 // since began; unlimited while it is not set
}

// covers reports whether the alarm goes off at the given time, or before. It does for the zero time.
func (a *alarm) covers(at time.Time) bool {
	return at.IsZero() || int64(at.Sub(a.began)) >= a.at.Load()
}

func (a *alarm) unset() { a.at.Store(int64(unlimited)) }

// set makes the alarm go off at the given time, if it would not do so before. It ignores the
// zero time.
func (a *alarm) set(at time.Time) {
	if a.covers(at) {
		return
	}
	a.at.Store(int64(at.Sub(a.began)))
	if a.timer == nil {
		a.timer = time.AfterFunc(time.Until(at), a.ring)
	} else {
		a.timer.Reset(time.Until(at))
	}
}

func (a *alarm) stop() {
	if a.timer != nil {
		a.timer.Stop()
	}
}

// watch makes sure that the attempt ends at its deadline. Nearly always the alarm goes off before: then either it
// finds the attempt, or watch finds that it has gone off.
func (s *Scheduler) watch(w *worker, a *Attempt) {
	at := a.alarmAt()
	w.slot.Store(a)
	if s.alarm.covers(at) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.alarm.set(at)
}

// alarmAt returns when the attempt needs attention next, or the zero time. The caller holds the
// subscription's mu.
func (a *Attempt) alarmAt() time.Time {
	at := a.slowAt()
	if a.warned {
		at = a.deadline()
	}
	if after := a.settings.SlowEventAfter; !at.IsZero() && (after == 0 || a.Since.Add(after).After(at)) {
		return at
	}
	if slow := a.slowEventAt(); at.IsZero() || !slow.IsZero() && slow.Before(at) {
		return slow
	}
	return at
}

// slowEventAt returns when the event becomes slow although nothing has failed, or the zero time: it is slow before the
// attempt begins, or the attempt is over by then.
func (a *Attempt) slowEventAt() time.Time {
	after := a.settings.SlowEventAfter
	if after == 0 || a.delays {
		return time.Time{}
	}
	left := after - a.started.Sub(a.Since)
	if limit, _ := a.bounds(); left <= 0 || left >= limit {
		return time.Time{}
	}
	return a.started.Add(left)
}

// slowAt returns when the log says that the handler is slow, or the zero time.
func (a *Attempt) slowAt() time.Time {
	if a.warned {
		return time.Time{}
	}
	working := a.working()
	if working.IsZero() {
		return working // its transaction waits, which is not the handler's doing
	}
	return working.Add(a.settings.SlowAfter)
}

// SlowEventAfter returns after how long its event is slow; 0 for never.
func (a *Attempt) SlowEventAfter() time.Duration { return a.settings.SlowEventAfter }

// unwatch forgets the attempt; its worker is free again if it was
// written off.
func (s *Scheduler) unwatch(w *worker, left bool) {
	w.slot.Store(nil)
	if left {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.free = append(s.free, w.number)
	}
}

// expire ends the attempts whose deadline has passed, warns of those that are
// slow, and sets the alarm to what comes next.
func (s *Scheduler) expire() {
	defer s.lookAtRunning()()
	now := time.Now()
	var late, slow, delaying []*Attempt
	s.mu.Lock()
	s.alarm.unset() // before the slots are read
	look := func(a *Attempt) {
		if a.late(now) {
			late = append(late, a)
			return
		}
		if at := a.slowAt(); !at.IsZero() && !at.After(now) {
			a.warned = true
			slow = append(slow, a)
		}
		if at := a.slowEventAt(); !at.IsZero() && !at.After(now) {
			a.delays = true
			delaying = append(delaying, a)
		}
		s.alarm.set(a.alarmAt())
	}
	for _, slot := range s.running {
		if a := slot.Load(); a != nil && (a.batch == nil || a.expires) { // else its batch has the deadline
			look(a)
		}
	}
	for _, b := range s.batches {
		look(&b.whole)
	}
	s.mu.Unlock()
	for _, a := range slow {
		attributes := []any{"running", a.settings.SlowAfter, "timeout", timeoutText(a.settings.Timeout)}
		if a.batch != nil {
			attributes = append(attributes, "batch", len(a.batch.begun))
		}
		s.cfg.Logger.Warn("a handler is slow", a.logged(attributes...)...)
		if tell := a.handler.Count.Slow(a, now.Sub(a.started)); tell != nil {
			go tell() // the alarm does not wait for observers
		}
	}
	for _, a := range delaying {
		if tell := a.handler.Count.SlowEvent(a, now.Sub(a.Since), now.Sub(a.started)); tell != nil {
			go tell()
		}
	}
	for _, a := range late {
		if a.isExpired() {
			continue // and its worker left behind, perhaps long ago
		}
		done := s.lookAtRunning()
		go func() { // nor for each other
			defer done()
			a.expire()
		}()
	}
}

// timeoutText is what the log says about a timeout.
func timeoutText(d time.Duration) any {
	if d == 0 {
		return "off"
	}
	return d
}
