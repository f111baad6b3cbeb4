package limit

import "slices"

// Whose turn it is follows from the free room and the waiters, and from nothing else:
// whenever that changes, kick looks at all waiters in their order, and tells each one that
// may begin. So no waiter has to pass a turn on, and no turn can be lost.

// look calls f with each waiter that may begin, in their order, of all or of one owner. One
// that is ready claims its buckets: those behind it may not begin, unless they are of the
// same owner, which tries its waiters in their order itself.
func (s *Set) look(of *Owner, f func(w *Waiter)) {
	s.looks++
	for _, w := range s.line {
		own, hears := of != nil && w.owner == of, w.hears()
		if !own && !hears && (!w.back || w.blocked) {
			continue // it looks itself before it listens
		}
		if !w.room() {
			for _, n := range w.needs {
				n.ring()
			}
			continue
		}
		if (of == nil || own) && (w.back || !w.claimed()) {
			f(w)
		}
		if hears || own {
			w.claim()
		}
	}
}

// claimed tells whether a waiter of another owner has claimed a bucket that w needs.
func (w *Waiter) claimed() bool {
	return slices.ContainsFunc(w.needs, func(n need) bool {
		return n.claim == w.set.looks && (n.several || w.owner == nil || n.claimer != w.owner)
	})
}

func (w *Waiter) claim() {
	for _, n := range w.needs {
		b := n.bucket
		if b.claim != w.set.looks {
			b.claim, b.claimer, b.several = w.set.looks, w.owner, w.owner == nil
		} else if b.claimer != w.owner {
			b.several = true
		}
	}
}

// kick tells each waiter that may begin.
func (s *Set) kick() {
	if s.again = true; s.kicking {
		return
	}
	s.kicking = true
	defer func() { s.kicking = false }()
	for s.again && s.reason == nil {
		s.again = false
		var granted []*Waiter
		s.look(nil, func(w *Waiter) {
			if w.owner != nil {
				w.owner.signal()
			} else {
				granted = append(granted, w)
			}
		})
		for _, w := range granted {
			if w.parked { // else another call has regained its room with its own
				w.take()
				w.end(nil)
			}
		}
	}
}
