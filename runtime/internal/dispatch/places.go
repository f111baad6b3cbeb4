package dispatch

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/internal/dispatch/errs"
	"github.com/busgen/busgen/runtime/internal/lockorder"
)

// loan is what an attempt has lent whose handler waits. It is guarded by the mu of the places.
type loan struct {
	attempt *Attempt
	waits   int           // goroutines of the handler that wait
	back    chan struct{} // closed when the handler may go on; nil before it wants to
	ended   chan struct{} // closed when the loan has ended, for its guest
}

// places knows what is lent of a subscription's places. Its mu is taken after that of an attempt, and before all others.
type places struct {
	*core
	gate   *gate
	limits *limits
	crew   *crew

	// Guarded by mu.
	mu     lockorder.Mutex[lockorder.Places]
	asking []*loan // whose handlers want to go on, first come, first served
	lent   int     // all of them
	own    int     // those of handlers that have a place of their own
	guests int     // handlers that were called in a lent place, and have not ended
}

// lend lends what the handler of an attempt has, because one of its goroutines waits. It
// reports false if the attempt is over, and has nothing to lend.
func (p *places) lend(a *Attempt) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if l := a.loaned(); l != nil {
		l.waits++
		if l.back != nil { // another goroutine goes on beside the loan
			p.withdraw(l)
			close(l.back)
			l.back = nil
		}
		a.run.granted().Lend() // what it has taken since, and nothing is wanted back
		return true
	}
	a.lends = true
	l := &loan{attempt: a, waits: 1, ended: make(chan struct{})}
	a.extras().loan = l
	p.extra.Add(1)
	p.consumer.SetWaiting(a.Delivery, true) // before anything can run in its place
	p.lent++
	if !a.run.guest {
		p.own++
	}
	if b := a.handler.Breaker; b != nil && b.Status(time.Now()).State == breaker.HalfOpen {
		// It may be the probe, for which everything else has to wait.
		a.permit.Release()
		a.permit = breaker.Permit{}
	}
	p.queue.Lend(a.run.Item)
	a.run.granted().Lend()
	p.gate.leave(a.run.alone)
	p.crew.open(l.ended)
	p.signal()
	return true
}

// takeBack undoes lend. Unless others of the handler's goroutines wait, it returns when
// the handler has back what it has lent, or by force when ctx ends.
func (p *places) takeBack(ctx context.Context, a *Attempt) {
	p.mu.Lock()
	l := a.loaned()
	if l != nil {
		l.waits--
	}
	if l == nil || l.waits > 0 {
		p.mu.Unlock()
		return
	}
	back := make(chan struct{})
	l.back = back
	p.asking = append(p.asking, l)
	p.mu.Unlock()
	p.signal()
	select {
	case <-back:
	case <-ctx.Done():
		p.mu.Lock()
		if l.back == back {
			p.force(l)
		}
		p.mu.Unlock()
	}
	p.askBreaker(a)
}

// askBreaker gets a permit for an attempt that gave its own back while it waited. Without
// one its outcome says nothing to the breaker. While goroutines of the handler wait, it asks
// for none: it would be the probe that they wait for.
func (p *places) askBreaker(a *Attempt) {
	a.mu.Lock() // so that none begins to wait
	defer a.mu.Unlock()
	p.mu.Lock()
	waits := a.loaned() != nil
	p.mu.Unlock()
	if b := a.handler.Breaker; b != nil && !waits && !a.over && a.permit == (breaker.Permit{}) {
		a.permit, _ = b.Acquire(time.Now(), a.Seq)
	}
}

// recall takes back by force what a decided attempt has lent. The caller holds the
// attempt's mu.
func (p *places) recall(a *Attempt) {
	if !a.lends {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if l := a.loaned(); l != nil {
		p.force(l)
	}
}

// force ends a loan whoever has the place and the key. A suspect is not alone any more: it
// ends like any other delivery that those wait for who have to be alone. The caller holds mu.
func (p *places) force(l *loan) {
	p.withdraw(l)
	l.attempt.run.alone = false
	p.gate.active.Add(1)
	l.attempt.run.granted().Force()
	p.close(l)
	p.signal()
}

// close ends a loan whose handler has its place again.
func (p *places) close(l *loan) {
	p.queue.TakeBack(l.attempt.run.Item)
	p.consumer.SetWaiting(l.attempt.Delivery, false)
	l.attempt.extras().loan = nil
	p.lent--
	if !l.attempt.run.guest {
		p.own--
	}
	if l.back != nil {
		close(l.back)
		l.back = nil
	}
	close(l.ended)
	p.extra.Add(-1)
}

// withdraw forgets that a handler wants to go on.
func (p *places) withdraw(one *loan) {
	p.asking = slices.DeleteFunc(p.asking, func(other *loan) bool { return other == one })
}

// readmit lets handlers go on whose wait has ended. It reports whether one of them has to
// run alone and cannot yet: then nothing else may begin. The caller has the turn.
func (p *places) readmit() (asks bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range slices.Clone(p.asking) {
		r := l.attempt.run
		granted := r.granted()
		switch {
		case !p.queue.Free(r.Key):
			granted.Blocked()
		case p.gate.full():
			return asks
		case !granted.MayReturn(p.limits.owner): // there will be a signal
		case p.gate.pass(r.alone):
			if !granted.TakeBack() {
				p.gate.leave(r.alone)
				continue
			}
			p.withdraw(l)
			p.close(l)
		default:
			granted.Blocked()
			asks = asks || r.alone
		}
	}
	return asks
}

// onlyUrgent tells whether the last place that is free was lent by a handler that has
// ended meanwhile, and what was called in it has not. Then it is still for urgent
// deliveries only.
func (p *places) onlyUrgent() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	own := int(p.gate.active.Load()) + p.lent - p.guests // handlers with a place of their own
	return p.guests > 0 && p.own == 0 && own+1 >= p.gate.places()
}

// enter counts a handler that is called in a lent place, after it has passed the gate. The caller has the turn.
func (p *places) enter() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.guests++
}

// leave is leave for such a handler. Both counts change at once: whoever has the turn would find more places than
// there are in between (onlyUrgent).
func (p *places) leave(suspect bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.guests--
	p.gate.leave(suspect)
}

// Await calls wait, which waits until the event at seq is settled or has been answered,
// inside the handler of the attempt. Meanwhile the handler's place, worker and partition
// key are lent to the deliveries of the event, and the handler has them back when Await
// returns. The context that wait is given ends with ctx, with the attempt, and when the
// subscription stops.
//
// It returns what wait does. If ctx has ended, that is its error, at once, whoever has
// the place. In the other cases it is the cause of the attempt's end, or [errs.ErrShutdown]. A
// *[errs.WaitCycleError] says that wait was not called, nor with [errs.ErrBatchWait] in a batch. Several goroutines of a handler may
// wait at once: they lend until the last of them is through. It is safe to call after the
// attempt is over; then nothing is lent.
func (a *Attempt) Await(ctx context.Context, seq int64, wait func(context.Context) error) error {
	s := a.run.site
	if a.batch != nil {
		return errs.ErrBatchWait
	}
	if s.stopped.Load() {
		return errs.ErrShutdown
	}
	if err := s.cfg.Waits.begin(a.Delivery, s.cfg.Ephemeral, seq); err != nil {
		return err
	}
	limited, end := context.WithCancelCause(ctx)
	defer end(nil)
	go func() {
		select {
		case <-s.stopping:
			end(errs.ErrShutdown)
		case <-a.Done():
			end(context.Cause(a))
		case <-limited.Done():
		}
	}()
	lent := s.places.lend(a)
	err := func() error {
		defer s.cfg.Waits.end(a.Delivery, s.cfg.Ephemeral, seq)
		return wait(limited)
	}()
	if lent {
		s.places.takeBack(limited, a)
	}
	if err == nil || limited.Err() == nil || !errors.Is(err, limited.Err()) {
		return err
	}
	if cause := context.Cause(limited); ctx.Err() == nil || cause == errs.ErrShutdown {
		return cause
	}
	return ctx.Err()
}
