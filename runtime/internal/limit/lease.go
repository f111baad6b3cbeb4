package limit

import (
	"context"
	"errors"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// What a rate uses is in the file before it is used, so that it holds over restarts and
// kill -9. A lease moves the time of a bucket on in the file; then the process uses it up in
// memory. With several processes each has leases of its own.

// Lease is documented as LimitLease of package engine.
type Lease = engine.LimitLease

// storePause is how long nothing is stored after that has failed.
const storePause = time.Second

// want asks for a lease.
func (b *bucket) want() {
	s := b.limit.set
	if b.wanted || s.reason != nil {
		return
	}
	b.wanted = true
	s.wanted = append(s.wanted, b)
	if !s.storing {
		s.storing = true
		go s.store()
	}
}

// store stores all that is wanted.
func (s *Set) store() {
	for {
		s.mu.Lock()
		wanted := s.wanted
		if s.wanted = nil; len(wanted) == 0 || s.reason != nil {
			s.storing = false
			s.mu.Unlock()
			return
		}
		now, margin := s.now(), 2*s.slow
		leases := make([]Lease, len(wanted))
		for i, b := range wanted {
			l := b.limit
			burst := time.Duration(l.Burst) * l.step
			leases[i] = Lease{
				Limit: l.Name, Key: b.key, Now: s.wall(now), Full: s.wall(max(b.full, now)), Ahead: l.lead + margin,
				Most: s.wall(now + burst + 2*(l.lead+margin)), Reset: s.wall(now + burst),
			}
		}
		s.mu.Unlock()
		err := s.cfg.Lease(context.Background(), leases)
		s.took(wanted, leases, now, err)
		if err != nil && !s.rest() {
			return
		}
	}
}

// took takes in what was leased.
func (s *Set) took(wanted []*bucket, leases []Lease, began time.Duration, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slow = max(s.now()-began, s.slow/2)
	if err != nil {
		if !s.failing && s.reason == nil && !errors.Is(err, engine.ErrClosed) {
			s.cfg.Logger.Error("what limits have used cannot be stored, so nothing begins that needs a rate; trying again every second", "error", err)
			s.failing = true
		}
		s.wanted = append(wanted, s.wanted...)
		return
	}
	if s.failing {
		s.failing = false
		s.cfg.Logger.Info("what limits have used can be stored again")
	}
	for i, b := range wanted {
		b.wanted = false
		full := leases[i].Full.Sub(s.cfg.Now)
		if full != b.leased { // else it goes on where the last one ends
			b.full = max(b.full, full)
		}
		b.leased = leases[i].Until.Sub(s.cfg.Now)
	}
	s.kick()
}

// rest waits until it may be tried again, and reports false if the set is closed.
func (s *Set) rest() bool {
	timer := time.NewTimer(storePause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.closed:
		return false
	}
}

// Buckets returns how many buckets are in memory, for tests.
func (s *Set) Buckets() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.limits {
		n += len(l.buckets)
	}
	return n
}
