package dispatch

import (
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
)

// settler hands dispositions to the engine. Then what waited for the delivery may begin: the next one of its key,
// what waits for its limits, and it itself. It is safe for concurrent use.
type settler struct {
	*core
	limits *limits
}

// settle hands a disposition to the engine and frees the partition key. A strict
// order then keeps its deliveries back until this one comes again.
func (s *settler) settle(i *item, v engine.Disposition) {
	s.beforeSettling(i, &v)
	s.consumer.Settle(engine.Settled{Delivery: i.Delivery, Disposition: v}, nil)
	if s.settled(i.key, i.Seq, v.Kind) {
		s.signal()
	}
	if s.cfg.Settled != nil {
		s.cfg.Settled(i.ID, v)
	}
}

// beforeSettling makes of a disposition the one that is to be settled.
func (s *settler) beforeSettling(i *item, v *engine.Disposition) {
	if v.Kind != engine.Done && v.Kind != engine.Discard {
		if reason, cancelled := s.consumer.Cancelled(i.Seq); cancelled { // while its handler was at work
			v.Kind, v.Reason, v.Cancelled = engine.Discard, reason, true
		}
	}
	if s.cfg.Limits != nil {
		s.limits.settle(i, v.Kind)
	}
	if s.cfg.Strict && !i.Exempt && ledger.PutsOff(v.Kind) {
		s.queue.hold(i.key, i.Seq, v.Due) // before it can come again
	}
}

// settled frees the key of a delivery that is settled, and reports whether something may
// have waited for that.
func (s *settler) settled(key string, seq int64, how engine.DispositionKind) (more bool) {
	again := !ledger.Settles(how) && s.queue.pollAgain(seq, time.Now())
	return s.queue.done(key, seq) || again
}

// putOff puts a delivery off that waits until this process is no more young. It reports false
// for one that was never tried: all of its kind wait, in the queue and not with a row each.
func (s *settler) putOff(i item, until time.Time) bool {
	if !triedBefore(i) {
		return false
	}
	s.cfg.Logger.Info("a delivery waits until this process has lived for a while: it has one attempt left, and the last process ended soon after its start",
		"event_id", i.ID, "event_type", i.Type, "subscription_id", s.cfg.Name, "until", until)
	s.settle(&i, engine.Disposition{Kind: engine.Snooze, Due: until, NotCalled: true, Progress: i.Progress})
	return true
}
