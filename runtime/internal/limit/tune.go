package limit

import "github.com/busgen/busgen/runtime/declare"

// Tune gives limits of the set other numbers: AtOnce, Rate and Per. Whether they have places and
// a rate stays as it is. Holders of a place keep it, and waiters that have room by then begin.
func (s *Set) Tune(all ...declare.Limit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range all {
		if l := s.limits[r.Name]; l != nil && l.Limit != r {
			l.tune(r)
		}
	}
	s.kick()
}

func (l *Limit) tune(r declare.Limit) {
	same := r.Rate == l.Rate && r.Per == l.Per
	before := l.numbers
	if l.follow(r); same || r.Rate == 0 {
		l.numbers = before
		return
	}
	for _, b := range l.buckets {
		b.renew()
	}
}
