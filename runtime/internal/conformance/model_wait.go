package conformance

import (
	"context"
	"time"

	"github.com/busgen/busgen/runtime"
)

// What the model test waits for, and may then rely on.

// waitLimit is longer than anything takes.
const waitLimit = 24 * time.Hour

func (w *world) waitIdle() {
	w.resumeAll()
	ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
	defer cancel()
	if err := w.bus.WaitIdle(ctx); err != nil {
		w.Errorf("waiting until idle: %v; open are %v", err, w.model.open(w.attached))
		return
	}
	if open := w.model.open(w.attached); len(open) > 0 {
		w.Errorf("WaitIdle has returned and these deliveries are open: %v", open)
	}
	w.model.final(func(p *pair) bool { return w.attached[p.sub.name] != nil })
}

// waitForOne waits for an event whose subscriptions are all there.
func (w *world) waitForOne() {
	if len(w.receipts) == 0 {
		return
	}
	one := w.receipts[w.IntN(len(w.receipts))]
	for name := range one.pairs {
		if w.attached[name] == nil {
			return
		}
	}
	w.resumeAll()
	ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
	defer cancel()
	outcome, err := one.Wait(ctx)
	if err != nil {
		w.Errorf("waiting for event %d: %v", one.number, err)
		return
	}
	w.auditOutcome(one.modelEvent, outcome)
	w.model.final(func(p *pair) bool { return p.event == one.modelEvent })
}

// auditOutcome compares what a receipt says with the model.
func (w *world) auditOutcome(e *modelEvent, outcome runtime.Outcome) {
	w.model.open(nil) // dispositions that time has given meanwhile
	w.model.mu.Lock()
	defer w.model.mu.Unlock()
	if len(outcome.Deliveries) != len(e.pairs) || outcome.ID != e.id {
		w.Errorf("event %d has the outcome %+v, want %d deliveries", e.number, outcome, len(e.pairs))
	}
	for _, d := range outcome.Deliveries {
		p := e.pairs[d.Subscription]
		if p == nil {
			w.Errorf("event %d has an outcome for %s, and is not for it", e.number, d.Subscription)
			continue
		}
		if p.current != nil {
			w.Errorf("%v has the outcome %+v, and its handler runs", p, d)
		}
		if d.Dead {
			p.lookedAt()
		}
		if d.Failures != len(p.attempts) || d.Dead != (p.state == pairDead) || d.Discarded != (p.state == pairDiscarded) || p.state == pairOpen ||
			d.Reason != p.reason && p.state != pairPurged || d.Cancelled != (p.state == pairDiscarded && p.reason == "cancelled") {
			w.Errorf("%v has the outcome %+v; want %v (%s) after %v", p, d, p.state, p.reason, p.attempts)
		}
	}
}
