package dispatch

import "time"

// Deadlines are watched for all lanes of a subscription together: an attempt
// that ends in time, as nearly all do, costs no timer. The alarm stands at the
// earliest deadline that was known when it was set; when it goes off it ends
// what is late and is set again.

// alarm is a timer that remembers when it goes off.
type alarm struct {
	ring  func()
	timer *time.Timer
	at    time.Time // zero while it is not set
}

// set makes the alarm go off at the given time, if it would not do so before.
func (a *alarm) set(at time.Time) {
	if !a.at.IsZero() && !at.Before(a.at) {
		return
	}
	a.at = at
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

// watch makes sure that the attempt ends at its deadline.
func (s *Subscription) watch(a *Attempt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running[a.worker] = a
	s.alarm.set(a.deadline)
}

// unwatch forgets the attempt; its worker is free again if its lane was
// written off.
func (s *Subscription) unwatch(a *Attempt, left bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running[a.worker] = nil
	if left {
		s.free = append(s.free, a.worker)
	}
}

// expire ends the attempts whose deadline has passed, and sets the alarm to the
// next deadline.
func (s *Subscription) expire() {
	now := time.Now()
	var late []*Attempt
	s.mu.Lock()
	s.alarm.at = time.Time{}
	for _, a := range s.running {
		switch {
		case a == nil:
		case a.deadline.After(now):
			s.alarm.set(a.deadline)
		default:
			late = append(late, a)
		}
	}
	s.mu.Unlock()
	for _, a := range late {
		a.expire()
	}
}
