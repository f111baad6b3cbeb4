package dispatch

import (
	"time"

	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/internal/dispatch/queue"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// chooser decides what a worker begins next. It belongs to who has the turn of the intake.
type chooser struct {
	*site
	intake *intake

	// Memory, guarded by the turn.
	runs   []run
	handed []Handed
}

// next waits for a delivery that may run. It reports false when the
// subscription is stopping, or the loan of a guest has ended. A guest gets no run when a
// worker wants its turn.
func (c *chooser) next(w *worker) (r *run, ok bool) {
	if !c.intake.turn.take() && !c.intake.awaitTurn(w) { // nearly always there is no competition
		return nil, false
	}
	claimed := false
	defer func() {
		if !claimed {
			c.limits.unlisten()
			c.intake.turn.give()
		}
	}()
	guest, looked := w.loan != nil, false
	var claims <-chan struct{}
	if guest {
		claims = c.intake.claim
	}
	for {
		if c.stopped.Load() || isClosed(w.loan) {
			return nil, false
		}
		extra := c.extra.Load() > 0
		if c.limits.listens { // whose turn it is takes it at once
			if r, _, ok = c.take(w, extra); ok {
				c.limits.unlisten()
				c.began(looked)
				return r, true
			}
			c.limits.unlisten()
		}
		pause, polled := c.intake.fill(extra)
		if polled || extra || c.cfg.Limits != nil {
			w.ended = time.Time{}
		}
		if c.stopped.Load() { // keys may be missing
			return nil, false
		}
		r, reopens, ok := c.take(w, extra)
		if ok {
			c.began(looked)
			return r, true
		}
		w.ended = time.Time{}
		c.limits.listen()
		if reopens == nil && c.intake.pollsOn() {
			continue
		}
		c.stalls.wait(looked)
		looked = false
		c.rests.Store(true)
		select {
		case <-c.wake:
			c.intake.woken()
		case <-pause:
			c.intake.more = true
		case <-reopens:
		case <-c.stalls.looks:
			looked = c.intake.lookAgain(pause, reopens)
		case <-claims: // whoever has sent it has the turn, and leaves the line
			claimed = true
			c.rests.Store(false)
			return nil, true
		case <-w.loan:
			c.rests.Store(false)
			return nil, false
		case <-c.stopping:
			return nil, false
		}
		c.rests.Store(false)
	}
}

// take removes the next delivery that may run from the queue. If all have to
// wait for the breaker it says until when. For a guest it is an urgent one. The worker
// has the turn.
func (c *chooser) take(w *worker, extra bool) (r *run, reopens <-chan time.Time, ok bool) {
	guest := w.loan != nil
	asks := c.intake.asks // for a suspect, to run alone
	full := false
	if c.limits.tried = false; c.cfg.Limits != nil {
		c.tend()
	}
	if extra {
		asks = c.places.readmit() || asks
		full = c.gate.full()
		guest = guest || c.places.onlyUrgent()
	}
	if !asks && !full {
		r, reopens, ok = c.choose(w, &asks, guest)
	}
	if ok && guest {
		r.guest = true
		c.places.enter()
	}
	if !asks {
		c.gate.yield()
	}
	return r, reopens, ok
}

func (c *chooser) choose(w *worker, asks *bool, guest bool) (r *run, reopens <-chan time.Time, ok bool) {
	for !c.gate.paused.Load() {
		i, ok := c.limits.next(guest)
		if !ok {
			c.limits.tried = true
			return nil, nil, false
		}
		if c.gate.byKey.pausing() && c.intake.lacksKeys() {
			c.limits.putBack(i)
			c.intake.takeBack()
			return nil, nil, false
		}
		settings := c.cfg.Settings(i.Type).with(i.Own())
		if v := c.gate.dismissal(&i, settings); v != nil {
			c.settler.settle(&i, v)
			c.gate.byKey.parked(&i, v)
			continue
		}
		if until := c.loops(i); !until.IsZero() {
			if c.settler.putOff(i, until) {
				continue
			}
			c.limits.putBack(i)
			return nil, time.After(time.Until(until)), false
		}
		now := w.now()
		if c.cfg.Limits != nil || settings.BreakerBy != "" {
			if c.intake.outdated(i, settings) && !c.intake.relimit(&i, settings) {
				*asks = c.intake.asks
				return nil, nil, false
			}
		}
		if settings.BreakerBy != "" || c.gate.byKey.some.Load() {
			if v := c.gate.byKey.behind(&i, now); v != nil {
				c.settler.settle(&i, v)
				c.gate.byKey.parked(&i, v)
				continue
			}
		}
		if c.cfg.Limits != nil && !c.limits.ask(&i, settings, now) {
			continue
		}
		var permit breaker.Permit
		if settings.BreakerBy != "" {
			if permit, ok = c.gate.byKey.acquire(&i, now); !ok {
				c.limits.putBack(i) // it is parked, the next time
				continue
			}
		} else if b := c.cfg.Breaker; b != nil {
			if permit, ok = b.Acquire(now, i.Seq); !ok {
				c.limits.putBack(i)
				return nil, reopening(b, now), false
			}
		}
		if *asks = i.Suspect; !c.gate.pass(i.Suspect) {
			permit.Release()
			c.limits.putBack(i) // there will be a signal
			return nil, nil, false
		}
		if c.cfg.Limits != nil && !c.limits.take(&i) {
			*asks = false
			permit.Release()
			c.gate.leave(i.Suspect)
			continue
		}
		r := c.newRun(w)
		r.Item, r.site, r.settings, r.alone = i, c.site, settings, i.Suspect
		r.initial.started, r.initial.permit = now, permit
		if c.cfg.Reuse {
			r.initial.handed = c.hand()
			r.initial.handed.attempt = &r.initial
		}
		return r, nil, true
	}
	return nil, nil, false
}

// tend looks after what is parked or held, before anything else is tried.
func (c *chooser) tend() {
	c.intake.relimitParked()
	if c.queue.Parked() > 0 {
		c.dismissParked()
	}
}

// dismissParked settles what is parked and was cancelled.
func (c *chooser) dismissParked() {
	for _, i := range c.queue.TakeParked(func(i queue.Item) bool { _, cancelled := c.consumer.Cancelled(i.Seq); return cancelled }) {
		reason, _ := c.consumer.Cancelled(i.Seq)
		c.settler.settle(&i, &engine.Disposition{Kind: engine.Discard, Reason: reason, Cancelled: true, Progress: i.Progress})
	}
}

// newRun returns the memory of a run: that of the worker's last one, if nobody may know that any more. It is allocated
// for several at once when there are several to come.
func (c *chooser) newRun(w *worker) *run {
	if r := w.spare; r != nil {
		w.spare = nil
		return r
	}
	if len(c.runs) == 0 {
		c.runs = make([]run, min(1+c.queue.Len(), runsAtOnce))
	}
	r := &c.runs[0]
	c.runs = c.runs[1:]
	return r
}

// runsAtOnce is how many fit into 4 KiB, which is what the memory of more would be rounded up to.
const runsAtOnce = 15

// hand returns memory for what the next handler is given. It is allocated for several at once when there are several
// to come. The caller has the turn.
func (c *chooser) hand() *Handed {
	if len(c.handed) == 0 {
		c.handed = make([]Handed, min(1+c.queue.Len(), handedAtOnce))
	}
	h := &c.handed[0]
	c.handed = c.handed[1:]
	return h
}

// handedAtOnce is how many fit into 1 KiB, which is what the memory of more would be rounded up to. A handler that
// keeps one keeps the deliveries of all of them.
const handedAtOnce = 21
