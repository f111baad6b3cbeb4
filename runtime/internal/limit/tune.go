package limit

// Tune gives limits of the set other numbers: AtOnce, Rate, Per, Burst, Wait and Lax. Whether they
// have places and a rate, and Event, stay as they are. What holds a place keeps it, and waiters that
// have room by then begin.
func (s *Set) Tune(rules ...Rules) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range rules {
		if l := s.limits[r.Name]; l != nil && l.Rules != r {
			l.tune(r)
		}
	}
	for _, w := range s.line {
		w.alarm()
	}
	s.kick()
}

func (l *Limit) tune(r Rules) {
	same := r.Rate == l.Rate && r.Per == l.Per && r.Burst == l.Burst
	before := l.numbers
	if l.follow(r); same || r.Rate == 0 {
		l.numbers = before
		return
	}
	for _, b := range l.buckets {
		b.renew()
	}
}
