package dispatch

import (
	"cmp"
	"sync/atomic"
	"time"

	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/internal/dispatch/queue"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
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

	warnedStaged, warnedStrict atomic.Bool // of what suspends, once each
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
		a.started, a.settings = time.Now(), h.Settings(r.Type).with(r.Own())
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
	if s.extra.Load() > 0 {
		s.signal() // there may have been no place
	}
}

// leaveBatch is called when a batch that has passed the gate is settled.
func (s *site) leaveBatch(b *Batch) {
	s.gate.leave(b.alone)
	if b.limits != nil {
		b.limits.Grant.Release()
	}
	if s.extra.Load() > 0 {
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

// settler hands dispositions to the engine. Then what waited for the delivery may begin: the next one of its key,
// what waits for its limits, and it itself. It is safe for concurrent use.
type settler struct {
	*core
	limits *limits
}

// settle hands a disposition to the engine and frees the partition key. A strict
// order then keeps its deliveries back until this one comes again.
func (s *settler) settle(i *queue.Item, v *engine.Disposition) {
	s.beforeSettling(i, v)
	s.consumer.Settle(engine.Settled{Delivery: i.Delivery, Disposition: *v}, nil)
	if s.settled(i.Key, i.Seq, v.Kind) {
		s.signal()
	}
	if s.cfg.Settled != nil {
		s.cfg.Settled(i.ID, *v)
	}
}

// beforeSettling makes of a disposition the one that is to be settled.
func (s *settler) beforeSettling(i *queue.Item, v *engine.Disposition) {
	if v.Kind != engine.Done && v.Kind != engine.Discard {
		if reason, cancelled := s.consumer.Cancelled(i.Seq); cancelled { // while its handler was at work
			v.Kind, v.Reason, v.Cancelled, v.Waitlist, v.Key = engine.Discard, reason, true, "", ""
		}
	}
	if s.cfg.Limits != nil {
		i.Unwait()
	}
	if s.consumer.Parked() {
		waitlists{s.core}.free(i, v)
	}
	if v.Waitlist != "" {
		waitlists{s.core}.parkBehind(i, v)
	}
	if s.cfg.Strict && !i.Exempt && ledger.PutsOff(v) {
		s.queue.Hold(i.Key, i.Seq, v.Due) // before it can come again
	}
}

// settled frees the key of a delivery that is settled, and reports whether something may
// have waited for that.
func (s *settler) settled(key string, seq int64, how engine.DispositionKind) (more bool) {
	again := !ledger.Settles(how) && s.queue.PollAgain(seq, time.Now())
	return s.queue.Done(key, seq) || again
}

// putOff puts a delivery off that waits until this process is no more young. It reports false
// for one that was never tried: all of its kind wait, in the queue and not with a row each.
func (s *settler) putOff(i queue.Item, until time.Time) bool {
	if !queue.TriedBefore(i) {
		return false
	}
	s.cfg.Logger.Info("a delivery waits until this process has lived for a while: it has one attempt left, and the last process ended soon after its start",
		"event_id", i.ID, "event_type", i.Type, "subscription_id", s.cfg.Name, "until", until)
	s.settle(&i, &engine.Disposition{Kind: engine.Snooze, Due: until, NotCalled: true, Progress: i.Progress})
	return true
}
