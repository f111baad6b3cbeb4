package dispatch

import (
	"cmp"
	"sync/atomic"
	"time"

	"github.com/busgen/busgen/runtime/breaker"
)

// site is where the attempts of a subscription are made: all of the subscription that an attempt may touch.
type site struct {
	*core
	gate      *gate
	limits    *limits
	settler   *settler
	places    *places
	crew      *crew
	deadlines *deadlines

	unanswered atomic.Int32 // functions that match errors and that ruleInTime has asked
}

// newAttempt returns an attempt that has not begun.
func (s *site) newAttempt(worker int, r *run, h *Handler, permit breaker.Permit) *Attempt {
	a := &r.initial // which is as it was allocated, but for these two
	started := a.started
	if r.tried {
		a = new(Attempt)
	}
	a.Delivery, a.Number = r.Delivery, numberOf(r.Delivery)
	a.run, a.handler, a.worker, a.settings = r, h, int32(worker), r.settings
	a.permit, a.started, a.first = permit, started, !r.tried
	if s.cfg.Group { // each member has settings of its own
		a.started, a.settings = time.Now(), r.own().over(h.Settings(r.Type))
	}
	a.bound()
	a.allow(cmp.Or(r.MaxAttempts, r.settings.Retry.MaxAttempts))
	return a
}

// leaveGate is called when a delivery that has passed is settled.
func (s *site) leaveGate(r *run) {
	if r.guest {
		s.places.leave(r.alone)
	} else {
		s.gate.leave(r.alone)
	}
	r.granted().Release()
	if s.gate.streak.Load() > 0 || s.extra.Load() > 0 {
		s.signal() // the failure throttle may have held others, or there was no place
	}
}

// leaveBatch is called when a batch that has passed the gate is settled.
func (s *site) leaveBatch(b *Batch) {
	s.gate.leave(b.alone)
	if b.limits != nil {
		b.limits.grant.Release()
	}
	if s.gate.streak.Load() > 0 || s.extra.Load() > 0 {
		s.signal()
	}
}

// freeLimits frees what a handler that is left behind has got of limits, so that others do not
// wait for one that may never return. What its calls of Limiter.Do use is theirs until they end.
func (s *site) freeLimits(a *Attempt) {
	g := a.Limits() // of a batch, that of all of it
	g.Release()
	if names := g.Called(); len(names) > 0 {
		s.cfg.Logger.Warn("a handler that is left behind is in a call of Limiter.Do; its room is not free until that ends", a.logged("limits", names)...)
	}
}
