package dispatch

import (
	"cmp"
	"slices"
)

// The limits of an event type can be tuned while its deliveries wait in memory. What has not
// begun then needs the new ones: it asks for them when it is about to begin, and its keys
// are computed once more. What is parked for the old ones goes back into the queue.

// Retune is called after the limits that deliveries need may have changed.
func (s *Scheduler) Retune() {
	if s.cfg.Limits != nil {
		s.limits.retuned.Store(true)
		s.signal()
	}
}

// keyed tells whether uses have keys.
func keyed(uses []LimitUse) bool {
	return slices.ContainsFunc(uses, func(u LimitUse) bool { return u.By != "" })
}

// outdated tells whether a delivery has asked for others than these limits, or has no keys
// for them.
func (s *Scheduler) outdated(i item, in []LimitUse) bool {
	l := i.limits
	switch {
	case s.cfg.Key == nil:
		return false
	case s.cfg.LateKeys && !s.keyed && len(in) > 0:
		return true
	case l == nil || l.uses == nil && l.waiter == nil:
		return keyed(in)
	}
	return !slices.Equal(l.of, in)
}

// relimit brings a delivery that was popped up to date. It reports false if the delivery is back in the
// queue: the scheduler stops, all that is queued needs keys first, or the keys have to wait because suspects
// are to be alone.
func (s *Scheduler) relimit(i *item, in []LimitUse) bool {
	i.unwait()
	i.limits = nil
	if s.cfg.LateKeys && !s.keyed {
		s.queue.putBack(*i)
		s.later = append(s.queue.reset(), s.later...)
		s.signal()
		return false
	}
	if !keyed(in) || i.failure() != nil {
		return true
	}
	with := []item{*i}
	if !s.setKeysApart(with) || s.stopped.Load() { // keys may be missing
		s.queue.putBack(*i)
		return false
	}
	i.limits, i.special = with[0].limits, with[0].special
	return true
}

// relimitParked puts what is parked for limits that it does not need any more back into the queue.
func (s *Scheduler) relimitParked() {
	if !s.limits.retuned.Load() || !s.limits.retuned.Swap(false) {
		return
	}
	old := s.queue.takeParked(func(i item) bool { return s.outdated(i, s.cfg.Settings(i.Type).Limits) })
	slices.SortFunc(old, func(a, b item) int { return cmp.Compare(b.Seq, a.Seq) }) // the last one goes first to the front
	for _, i := range old {
		i.unwait()
		s.queue.putBack(i)
	}
}
