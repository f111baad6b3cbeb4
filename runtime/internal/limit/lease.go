package limit

import (
	"context"
	"errors"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// What a rate uses is in the file before it is used, so that it holds over restarts and kill
// -9, and for all processes together. A lease is a part of a rate that one process has, from
// the time at which its bucket is full again to another one; it is used up in memory, and no
// two leases overlap. The unused part of a lease is lost with its time, so that it cannot be
// used together with later leases of others.
//
// All processes follow one clock, which the file keeps.

// Lease and Time are documented as LimitLease and LimitTime of package engine.
type (
	Lease = engine.LimitLease
	Time  = engine.LimitTime
)

// storePause is how long nothing is stored after that has failed.
const storePause = time.Second

// clock returns the time of the file. The caller holds mu.
func (s *Set) clock() time.Time { return s.zero.Add(s.now()) }

// tick moves the clock of the file on. As long as no other process does, it goes with the monotonic clock of
// the process; after that, the wall clock tells how long ago that was. If it was set back meanwhile, or set
// forward as far as this process can know, the clock of the file rather loses time.
func (s *Set) tick(stored Time) Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !stored.Now.IsZero() && s.tried.is(stored) { // the transaction that had it failed, and has stored it all the same
		s.adopt()
	}
	at, wall := s.now(), s.cfg.Wall().Round(0)
	now := s.clock()
	if !s.ticked.is(stored) && !stored.Now.IsZero() {
		passed := wall.Sub(stored.Wall)
		if !s.ticked.Now.IsZero() {
			passed -= max(wall.Sub(s.ticked.Wall)-(at-s.ticked.at), 0)
		}
		now = stored.Now.Add(max(passed, 0))
	}
	s.tried = tick{Time{Now: now, Wall: wall}, at}
	return s.tried.Time
}

// adopt takes in that what was tried is stored.
func (s *Set) adopt() {
	s.ticked = s.tried
	s.zero = s.ticked.Now.Add(-s.ticked.at)
}

// tick is a time of the file that this process has told.
type tick struct {
	Time
	at time.Duration // by the clock of the set
}

func (t tick) is(stored Time) bool { return stored.Now.Equal(t.Now) && stored.Wall.Equal(t.Wall) }

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
		began := s.now()
		leases := make([]Lease, len(wanted))
		for i, b := range wanted {
			l := b.limit
			leases[i] = Lease{
				Limit: l.Name, Key: b.key, Full: b.full, Until: b.leased,
				By: b.by, Rate: l.numbers, Delay: 2 * s.delay,
			}
		}
		s.mu.Unlock()
		err := s.cfg.Lease(context.Background(), s.tick, leases)
		s.stored(wanted, leases, began, err)
		if err != nil && !s.rest() {
			return
		}
	}
}

// stored takes in what was leased.
func (s *Set) stored(wanted []*bucket, leases []Lease, began time.Duration, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	took := s.now() - began
	s.delay, s.took = min(took, s.took), took // one that stalls once says nothing of the next
	if err != nil {
		if !s.failing && s.reason == nil && !errors.Is(err, engine.ErrClosed) {
			s.cfg.Logger.Error("what limits have used cannot be stored, so nothing begins that needs a rate; trying again every second", "error", err)
			s.failing = true
		}
		s.wanted = append(wanted, s.wanted...)
		return
	}
	s.adopt()
	if s.failing {
		s.failing = false
		s.cfg.Logger.Info("what limits have used can be stored again")
	}
	for i, b := range wanted {
		b.wanted = false
		b.goBy(leases[i].By)
		if b.full, b.leased = leases[i].Full, leases[i].Until; b.stale {
			b.renew()
		} else if own := &b.limit.numbers; own.Since.IsZero() {
			own.Since = leases[i].Rate.Since
		}
	}
	s.kick()
}

// goBy lets the bucket go by these numbers.
func (b *bucket) goBy(numbers engine.LimitRate) {
	if b.by.Step != numbers.Step || b.by.Span != numbers.Span {
		b.stopTimer()
		b.ringing = false
	}
	b.by = numbers
}

// renew makes the bucket, which was one of other numbers, one of those of its limit by now, with
// which no lease was taken yet. The same part of it is used up.
func (b *bucket) renew() {
	b.full = engine.Rescale(b.full, b.limit.set.clock(), b.by.Span, b.limit.numbers.Span)
	b.goBy(b.limit.numbers)
	b.leased, b.stale = time.Time{}, b.wanted
	if len(b.waiters) > 0 {
		b.want() // so that the file knows the numbers from now on
	}
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
