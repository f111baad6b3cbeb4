package dispatch

import (
	"sync/atomic"
	"time"

	"github.com/busgen/busgen/runtime/breaker"
)

// A delivery passes the gate when a worker takes it: neither the subscription nor the
// event type is paused, the program knows the version of the event, the failure throttle
// does not hold it, the breaker is closed, and no suspect of a crash is running. Deliveries
// that may not pass stay in the queue. Only those that are held get a row: see held.go.

// gate is the state of it.
type gate struct {
	paused atomic.Bool
	held   atomic.Pointer[func(eventType string) bool] // nil if no type is paused
	newer  map[string]int                              // by type: up to which version the log has been told; under the turn
	holds  atomic.Int64                                // how often a delivery was held for its version
	active atomic.Int32                                // deliveries that have passed and are not settled
	streak atomic.Int32                                // failures in a row
}

// SetPaused stops the subscription or lets it go on; deliveries of held types
// are put off until the engine finds that their pause has ended. Handlers that
// run are not interrupted.
func (s *Scheduler) SetPaused(all bool, held func(eventType string) bool) {
	if s.gate.paused.Store(all); s.limits.owner != nil {
		s.limits.owner.Pause(all)
	}
	if held == nil {
		s.gate.held.Store(nil)
	} else {
		s.gate.held.Store(&held)
	}
	s.signal()
	s.freePaused()
}

// take removes the next delivery that may run from the queue. If all have to
// wait for the breaker it says until when. For a guest it is an urgent one. The worker
// has the turn.
func (s *Scheduler) take(w *worker, extra bool) (r *run, reopens <-chan time.Time, ok bool) {
	guest := w.loan != nil
	asks := s.asks // for a suspect, to run alone
	full := false
	if s.limits.tried = false; s.cfg.Limits != nil {
		s.tendLimits()
	}
	if extra {
		asks = s.readmit() || asks
		full = s.full()
		guest = guest || s.onlyUrgent()
	}
	if !asks && !full {
		r, reopens, ok = s.choose(w, &asks, guest)
	}
	if ok && guest {
		r.guest = true
		s.enterLent()
	}
	if !asks && s.cfg.Alone.closed.Load() {
		s.cfg.Alone.pass(s)
	}
	return r, reopens, ok
}

func (s *Scheduler) choose(w *worker, asks *bool, guest bool) (r *run, reopens <-chan time.Time, ok bool) {
	for !s.gate.paused.Load() {
		i, ok := s.nextItem(guest)
		if !ok {
			s.limits.tried = true
			return nil, nil, false
		}
		settings := i.own().over(s.cfg.Settings(i.Type))
		if v := s.dismissal(&i, settings); v != nil {
			s.settle(&i, *v)
			continue
		}
		if until := s.loops(i); !until.IsZero() {
			if s.putOff(i, until) {
				continue
			}
			s.putBack(i)
			return nil, time.After(time.Until(until)), false
		}
		if limit := settings.FailureThrottle; limit > 0 && int(s.gate.streak.Load()) >= limit && s.gate.active.Load() > 0 {
			s.putBack(i) // the one that runs will signal
			return nil, nil, false
		}
		now := w.now()
		if s.cfg.Limits != nil {
			if s.outdated(i, settings.Limits) && !s.relimit(&i, settings.Limits) {
				*asks = s.asks
				return nil, nil, false
			}
			if !s.askLimits(&i, settings, now) {
				continue
			}
		}
		var permit breaker.Permit
		if b := s.cfg.Breaker; b != nil {
			if permit, ok = b.Acquire(now, i.Seq); !ok {
				s.putBack(i)
				return nil, reopening(b, now), false
			}
		}
		if *asks = i.Suspect; !s.pass(i.Suspect) {
			permit.Release()
			s.putBack(i) // there will be a signal
			return nil, nil, false
		}
		if s.cfg.Limits != nil && !s.takeLimits(&i) {
			*asks = false
			permit.Release()
			s.leave(i.Suspect)
			continue
		}
		if i.limits.tooLate() { // which says nothing about the handler
			permit.Release()
			permit = breaker.Permit{}
		}
		r := s.newRun(w)
		r.item, r.scheduler, r.settings, r.alone = i, s, settings, i.Suspect
		r.initial.started, r.initial.permit = now, permit
		if s.cfg.Reuse {
			r.initial.handed = s.hand()
			r.initial.handed.attempt = &r.initial
		}
		return r, nil, true
	}
	return nil, nil, false
}

// newRun returns the memory of a run: that of the worker's last one, if nobody may know that any more. It is allocated
// for several at once when there are several to come.
func (s *Scheduler) newRun(w *worker) *run {
	if r := w.spare; r != nil {
		w.spare = nil
		return r
	}
	if len(s.runs) == 0 {
		s.runs = make([]run, min(1+s.queue.len(), runsAtOnce))
	}
	r := &s.runs[0]
	s.runs = s.runs[1:]
	return r
}

// runsAtOnce is how many fit into 4 KiB, which is what the memory of more would be rounded up to.
const runsAtOnce = 15

// reopening returns a channel that says when to try an open breaker again, or
// nil if its state has to change first, which signals.
func reopening(b *breaker.Breaker, now time.Time) <-chan time.Time {
	if status := b.Status(now); status.State == breaker.Open {
		return time.After(status.Until.Sub(now))
	}
	return nil
}

// leaveGate is called when a delivery that has passed is settled.
func (s *Scheduler) leaveGate(r *run) {
	if r.guest {
		s.leaveLent(r.alone)
	} else {
		s.leave(r.alone)
	}
	r.granted().Release()
	if s.gate.streak.Load() > 0 || s.extra.Load() > 0 {
		s.signal() // the failure throttle may have held others, or there was no place
	}
}

// noteFailure and noteSuccess count failures in a row for the failure throttle.
func (s *Scheduler) noteFailure() { s.gate.streak.Add(1) }

func (s *Scheduler) noteSuccess() {
	if s.gate.streak.Load() > 0 {
		s.gate.streak.Store(0)
		s.signal()
	}
}
