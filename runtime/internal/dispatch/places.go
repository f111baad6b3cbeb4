package dispatch

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/busgen/busgen/runtime/breaker"
)

// loan is what an attempt has lent whose handler waits. It is guarded by the
// subscription's loans.
type loan struct {
	attempt *Attempt
	waits   int           // goroutines of the handler that wait
	back    chan struct{} // closed when the handler may go on; nil before it wants to
	ended   chan struct{} // closed when the loan has ended, for its guest
}

// loans are those of a subscription. Its mu is taken after that of an attempt, and before
// all others.
type loans struct {
	mu     sync.Mutex
	asking []*loan // whose handlers want to go on, first come, first served
	lent   int     // all of them
	places int     // those of handlers that have a place of their own
	guests int     // handlers that were called in a lent place, and have not ended
}

// lend lends what the handler of the attempt has, because one of its goroutines waits. It
// reports false if the attempt is over, and has nothing to lend.
func (a *Attempt) lend() bool {
	s := a.run.scheduler
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over {
		return false
	}
	s.loans.mu.Lock()
	defer s.loans.mu.Unlock()
	if l := a.loaned(); l != nil {
		l.waits++
		if l.back != nil { // another goroutine goes on beside the loan
			s.loans.withdraw(l)
			close(l.back)
			l.back = nil
		}
		a.run.granted().Lend() // what it has taken since, and nothing is wanted back
		return true
	}
	a.lends = true
	l := &loan{attempt: a, waits: 1, ended: make(chan struct{})}
	a.extras().loan = l
	s.extra.Add(1)
	s.consumer.SetWaiting(a.Delivery, true) // before anything can run in its place
	s.loans.lent++
	if !a.run.guest {
		s.loans.places++
	}
	if b := a.handler.Breaker; b != nil && b.Status(time.Now()).State == breaker.HalfOpen {
		// It may be the probe, for which everything else has to wait.
		a.permit.Release()
		a.permit = breaker.Permit{}
	}
	s.queue.lend(a.run.item)
	a.run.granted().Lend()
	s.leave(a.run.alone)
	s.open(l.ended)
	s.signal()
	return true
}

// takeBack undoes lend. Unless others of the handler's goroutines wait, it returns when
// the handler has back what it has lent, or by force when ctx ends.
func (a *Attempt) takeBack(ctx context.Context) {
	s := a.run.scheduler
	s.loans.mu.Lock()
	l := a.loaned()
	if l != nil {
		l.waits--
	}
	if l == nil || l.waits > 0 {
		s.loans.mu.Unlock()
		return
	}
	back := make(chan struct{})
	l.back = back
	s.loans.asking = append(s.loans.asking, l)
	s.loans.mu.Unlock()
	s.signal()
	select {
	case <-back:
	case <-ctx.Done():
		s.loans.mu.Lock()
		if l.back == back {
			s.force(l)
		}
		s.loans.mu.Unlock()
	}
	a.askBreaker()
}

// askBreaker gets a permit for an attempt that gave its own back while it waited. Without
// one its outcome says nothing to the breaker. While goroutines of the handler wait, it asks
// for none: it would be the probe that they wait for.
func (a *Attempt) askBreaker() {
	s := a.run.scheduler
	a.mu.Lock() // so that none begins to wait
	defer a.mu.Unlock()
	s.loans.mu.Lock()
	waits := a.loaned() != nil
	s.loans.mu.Unlock()
	if b := a.handler.Breaker; b != nil && !waits && !a.over && a.permit == (breaker.Permit{}) {
		a.permit, _ = b.Acquire(time.Now(), a.Seq)
	}
}

// recall takes back by force what a decided attempt has lent. The caller holds the
// attempt's mu.
func (a *Attempt) recall() {
	if !a.lends {
		return
	}
	s := a.run.scheduler
	s.loans.mu.Lock()
	defer s.loans.mu.Unlock()
	if l := a.loaned(); l != nil {
		s.force(l)
	}
}

// force ends a loan whoever has the place and the key. A suspect is not alone any more: it
// ends like any other delivery that those wait for who have to be alone. The caller holds
// the loans' mu.
func (s *Scheduler) force(l *loan) {
	s.loans.withdraw(l)
	l.attempt.run.alone = false
	s.gate.active.Add(1)
	l.attempt.run.granted().Force()
	s.closeLoan(l)
	s.signal()
}

// closeLoan ends a loan whose handler has its place again.
func (s *Scheduler) closeLoan(l *loan) {
	s.queue.takeBack(l.attempt.run.item)
	s.consumer.SetWaiting(l.attempt.Delivery, false)
	l.attempt.extras().loan = nil
	s.loans.lent--
	if !l.attempt.run.guest {
		s.loans.places--
	}
	if l.back != nil {
		close(l.back)
		l.back = nil
	}
	close(l.ended)
	s.extra.Add(-1)
}

// withdraw forgets that a handler wants to go on.
func (l *loans) withdraw(one *loan) {
	l.asking = slices.DeleteFunc(l.asking, func(other *loan) bool { return other == one })
}

// readmit lets handlers go on whose wait has ended. It reports whether one of them has to
// run alone and cannot yet: then nothing else may begin. The caller has the turn.
func (s *Scheduler) readmit() (asks bool) {
	s.loans.mu.Lock()
	defer s.loans.mu.Unlock()
	for _, l := range slices.Clone(s.loans.asking) {
		r := l.attempt.run
		granted := r.granted()
		switch {
		case !s.queue.free(r.key):
			granted.Blocked()
		case s.full():
			return asks
		case !granted.MayReturn(s.limits.owner): // there will be a signal
		case s.pass(r.alone):
			if !granted.TakeBack() {
				s.leave(r.alone)
				continue
			}
			s.loans.withdraw(l)
			s.closeLoan(l)
		default:
			granted.Blocked()
			asks = asks || r.alone
		}
	}
	return asks
}

// full tells whether all places are in use.
func (s *Scheduler) full() bool { return int(s.gate.active.Load()) >= s.places() }

func (s *Scheduler) places() int { return max(s.cfg.Concurrency, 1) }

// onlyUrgent tells whether the last place that is free was lent by a handler that has
// ended meanwhile, and what was called in it has not. Then it is still for urgent
// deliveries only.
func (s *Scheduler) onlyUrgent() bool {
	s.loans.mu.Lock()
	defer s.loans.mu.Unlock()
	own := int(s.gate.active.Load()) + s.loans.lent - s.loans.guests // handlers with a place of their own
	return s.loans.guests > 0 && s.loans.places == 0 && own+1 >= s.places()
}

// enterLent counts a handler that is called in a lent place, after it has passed the gate. The caller has the turn.
func (s *Scheduler) enterLent() {
	s.loans.mu.Lock()
	defer s.loans.mu.Unlock()
	s.loans.guests++
}

// leaveLent is leave for such a handler. Both counts change at once: whoever has the turn would find more places than
// there are in between (onlyUrgent).
func (s *Scheduler) leaveLent(suspect bool) {
	s.loans.mu.Lock()
	defer s.loans.mu.Unlock()
	s.loans.guests--
	s.leave(suspect)
}

// replace starts another worker in place of one whose goroutine is lost; with free its
// number can be used again. A guest is replaced as long as its loan goes on.
func (s *Scheduler) replace(worker int, free bool) {
	s.mu.Lock()
	loan := s.guests[worker]
	if free {
		s.free = append(s.free, worker)
	}
	s.mu.Unlock()
	s.open(loan)
	s.retire(loan)
}

// retire is the end of a worker, or of a guest if it came with a loan.
func (s *Scheduler) retire(loan <-chan struct{}) {
	if loan != nil {
		s.extra.Add(-1)
	}
	s.workers.Done()
}
