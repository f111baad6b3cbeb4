package breaker

import (
	"sync"
	"time"
)

// Set is a circuit breaker for each key, such as each customer, all with one policy. The window of a key begins with a
// failure: successes count while it has one, so that a Set keeps nothing of keys that do well. It remembers the keys that
// have failed within the window, and those whose breaker is not closed. Make one with [NewSet]. It is safe for concurrent
// use. Its methods do not block, but they may call the function given to [Set.Notify].
type Set struct {
	mu     sync.Mutex // held while no function is called
	notify func(key string, old, new Status)
	policy Policy
	keys   map[string]*Breaker
	next   int // with so many keys the quiet ones are forgotten
}

// leastKeys is how many keys a Set remembers before it looks for those that are quiet.
const leastKeys = 64

// NewSet returns a Set whose breakers are closed. Like [New], it does not check p.
func NewSet(p Policy) *Set { return &Set{policy: p, keys: map[string]*Breaker{}, next: leastKeys} }

// Notify is [Breaker.Notify] for all keys. The changes of one key are told in order, those of several keys at once.
func (s *Set) Notify(f func(key string, old, new Status)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notify = f
}

func (s *Set) tell(key string, old, new Status) {
	s.mu.Lock()
	f := s.notify
	s.mu.Unlock()
	if f != nil {
		f(key, old, new)
	}
}

// Acquire is [Breaker.Acquire] for a key. The zero Permit with true is for a key that has no failures: the caller calls
// [Set.Failure] when the work fails, and nothing otherwise.
func (s *Set) Acquire(now time.Time, key string, work int64) (Permit, bool) {
	b := s.active(now, key)
	if b == nil {
		return Permit{}, true
	}
	return b.Acquire(now, work)
}

// Failure counts the failure of work for which the zero Permit was given.
func (s *Set) Failure(now time.Time, key string, work int64, why string) {
	if permit, ok := s.failing(now, key).Acquire(now, work); ok {
		permit.Failure(now, why)
	}
}

// Refuses tells whether Acquire would refuse, and until when. Until is zero while a probe is under way.
func (s *Set) Refuses(now time.Time, key string) (until time.Time, refuses bool) {
	b := s.active(now, key)
	if b == nil {
		return time.Time{}, false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch at := b.clock.read(now); {
	case b.state == Open && at < b.until:
		return b.clock.moment(b.until), true
	case b.state == HalfOpen && b.probing:
		return time.Time{}, true
	}
	return time.Time{}, false
}

// Tune is [Breaker.Tune] for all keys.
func (s *Set) Tune(p Policy) {
	s.mu.Lock()
	s.policy = p
	all := s.all()
	s.mu.Unlock()
	for _, b := range all {
		b.Tune(p)
	}
}

// Reset is [Breaker.Reset] for a key.
func (s *Set) Reset(key string) bool {
	s.mu.Lock()
	b := s.keys[key]
	delete(s.keys, key)
	s.mu.Unlock()
	return b != nil && b.Reset()
}

// ResetAll is Reset for all keys. It returns how many were not closed.
func (s *Set) ResetAll() (n int) {
	s.mu.Lock()
	all := s.all()
	clear(s.keys)
	s.mu.Unlock()
	for _, b := range all {
		if b.Reset() {
			n++
		}
	}
	return n
}

// Len returns how many keys are remembered.
func (s *Set) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.keys)
}

// active returns the breaker of a key, or nil if there is nothing to say of it.
func (s *Set) active(now time.Time, key string) *Breaker {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.keys[key]
	if b != nil && b.quiet(now) {
		delete(s.keys, key)
		return nil
	}
	return b
}

// failing returns the breaker of a key, which is new if there was none.
func (s *Set) failing(now time.Time, key string) *Breaker {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.keys[key]
	if b != nil {
		return b
	}
	if len(s.keys) >= s.next {
		for known, b := range s.keys {
			if b.quiet(now) {
				delete(s.keys, known)
			}
		}
		s.next = max(2*len(s.keys), leastKeys)
	}
	b = New(s.policy)
	b.changes.notify = func(old, new Status) { s.tell(key, old, new) }
	s.keys[key] = b
	return b
}

// all returns the breakers. The caller holds mu.
func (s *Set) all() []*Breaker {
	all := make([]*Breaker, 0, len(s.keys))
	for _, b := range s.keys {
		all = append(all, b)
	}
	return all
}

// quiet tells whether the breaker is like a new one: closed, no failure in its window, and no permit out.
func (b *Breaker) quiet(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pass(now)
	return b.state == Closed && b.window.total.failures == 0 && len(b.permits.out) == len(b.permits.free)
}
