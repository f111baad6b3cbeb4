package dispatch

import (
	"cmp"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/internal/dispatch/queue"
	"github.com/busgen/busgen/runtime/retry"
)

// A subscription with [Config].Batch hands its deliveries over in batches. Whoever has the
// turn gathers one: deliveries that are gathered have left the queue and have not begun.
// They have no partition key, so that later deliveries of the same key can join them, and
// they have not passed the gate, so that nothing waits for a batch that is not full. What
// cannot begin goes back into the queue: the subscription or the event type is paused, the
// breaker is open, a suspect of a crash holds it, or it stops.
//
// Some deliveries have a batch of their own: one that has failed before and whose next
// attempt may be the last one, so that none becomes a dead letter because of others in its
// batch. With a strict order a batch has one delivery of each key, and waits for no more once the next one of
// these keys is there, which cannot join. A half-open breaker is probed with a batch of one.
//
// Suspects of a crash are in batches with nothing but suspects of the same crash, half of
// these at most, down to one (Together). They do not wait for more.

// gatherer decides which batch a worker begins next. It belongs to who has the turn of the intake.
type gatherer struct {
	*site
	intake *intake
	*queue.Gathering

	permits []breaker.Permit // memory of begin
	timer   *time.Timer      // ends the wait for more
}

// next waits for a batch that may run. It reports false when the subscription is
// stopping.
func (g *gatherer) next() (b *Batch, ok bool) {
	if !g.intake.turn.take() && !g.intake.awaitTurn(&worker{}) {
		return nil, false
	}
	defer func() {
		if b == nil {
			g.PutBack()
			g.limits.unlisten()
			g.limits.leaveLine()
		}
		g.intake.turn.give()
	}()
	for looked := false; ; {
		if g.stopped.Load() {
			return nil, false
		}
		if g.limits.listens { // it takes its turn at once
			if b, _ = g.take(); b != nil {
				g.limits.unlisten()
				g.began(looked)
				return b, true
			}
			g.limits.unlisten()
		}
		pause, _ := g.intake.fill(g.extra.Load() > 0)
		if g.stopped.Load() { // keys may be missing
			return nil, false
		}
		b, reopens := g.take()
		if b != nil {
			g.began(looked)
			return b, true
		}
		g.limits.listen()
		if reopens == nil && g.intake.pollsOn() {
			continue
		}
		g.stalls.wait(looked)
		looked = false
		ripe := g.waitForMore()
		g.rests.Store(true)
		select {
		case <-g.wake:
			g.intake.woken()
		case <-pause:
			g.intake.more = true
		case <-reopens:
		case <-ripe:
		case <-g.stalls.looks:
			looked = g.intake.lookAgain(pause, reopens, ripe)
		case <-g.stopping:
			return nil, false
		}
		g.rests.Store(false)
	}
}

// waitForMore returns a channel that says when the batch is to begin that is gathered; nil if
// none is, or it cannot begin.
func (g *gatherer) waitForMore() <-chan time.Time {
	if len(g.Items) == 0 || g.intake.asks {
		return nil
	}
	_, wait := g.cfg.Batch()
	left := wait - time.Since(g.Since)
	if g.timer == nil {
		g.timer = time.NewTimer(left)
	} else {
		g.timer.Reset(left)
	}
	return g.timer.C
}

// take gathers, and begins the batch if it is full or has waited for long enough. If
// all deliveries have to wait for the breaker it says until when. The caller has the turn.
func (g *gatherer) take() (b *Batch, reopens <-chan time.Time) {
	asks := g.intake.asks // for a suspect, to run alone
	g.limits.tried = false
	if !asks {
		b, reopens = g.gather(&asks)
	}
	if !g.limits.tried {
		g.limits.leaveLine()
	}
	if !asks {
		g.gate.yield()
	}
	return b, reopens
}

func (g *gatherer) gather(asks *bool) (b *Batch, reopens <-chan time.Time) {
	now := time.Now()
	if g.gate.paused.Load() {
		g.PutBack()
		return nil, nil
	}
	if g.gate.byKey.pausing() && g.intake.lacksKeys() {
		g.PutBack()
		g.intake.takeBack()
		return nil, nil
	}
	probes := false
	if b := g.cfg.Breaker; b != nil {
		status := b.Status(now)
		if status.State == breaker.Open && status.Until.After(now) {
			g.PutBack()
			return nil, reopening(b, now)
		}
		probes = status.State != breaker.Closed
	}
	g.Full = g.Full || g.extra.Load() > 0 && g.queue.AnyAwaited(g.Items)
	size, wait := g.cfg.Batch()
	for len(g.Items) < g.Limit(size) && !g.Full {
		i, ok := g.queue.Gather(g.cfg.Strict)
		if !ok {
			break
		}
		if g.dismiss(i) {
			continue
		}
		if until := g.loops(i); !until.IsZero() {
			g.queue.Enter(&i)
			if g.settler.putOff(i, until) {
				continue
			}
			g.queue.GiveBack(i)
			g.PutBack() // from before the loop was known: it does not wait for more meanwhile
			return nil, time.After(time.Until(until))
		}
		solo := g.solo(i, now.Add(wait))
		if len(g.Items) > 0 && (solo || i.Together != g.Items[0].Together) {
			g.queue.GiveBack(i)
			g.Full = true
			continue
		}
		g.Full = solo || i.Urgent || probes // a handler waits for it; or it is the one probe
		if g.Since.IsZero() {
			g.Since = now
		}
		g.Items = append(g.Items, i)
	}
	if len(g.Items) == 0 {
		return nil, nil
	}
	if !g.Full && !g.intake.pollsOn() && (g.Items[0].Suspect || g.cfg.Strict && g.queue.HeldUpBy(g.Items)) {
		g.Full = true
	}
	if len(g.Items) < g.Limit(size) && !g.Full && now.Sub(g.Since) < wait {
		return nil, nil
	}
	return g.begin(now, asks)
}

// solo tells whether a delivery has a batch of its own. The batch begins at the given time at
// the latest.
func (g *gatherer) solo(i queue.Item, begins time.Time) bool {
	if i.Failures == 0 {
		return false
	}
	settings := g.cfg.Settings(i.Type).with(i.Own())
	// Which policy decides is known when the handler has failed.
	if g.isLast(i, settings, settings.Retry, begins) {
		return true
	}
	for _, rule := range settings.Errors {
		if !rule.Permanent && g.isLast(i, settings, rule.Retry, begins) {
			return true
		}
	}
	return false
}

// isLast tells whether a policy allows no attempt after one that begins at the given time,
// or one that would come when the event has expired.
func (g *gatherer) isLast(i queue.Item, settings *Settings, policy retry.Policy, begins time.Time) bool {
	failures := i.Failures + 1
	if policy.Exhausted(failures) {
		return true
	}
	due := begins.Add(policy.Jittered(failures+1, i.ID, g.cfg.Name))
	return settings.ExpiresAfter > 0 && due.Sub(i.Since) >= settings.ExpiresAfter
}

// dismiss settles a delivery that was taken from the queue, if it must not be tried now.
func (g *gatherer) dismiss(i queue.Item) bool {
	v := g.gate.dismissal(&i, g.cfg.Settings(i.Type).with(i.Own()))
	if v == nil {
		return false
	}
	g.queue.Enter(&i)
	g.settler.settle(&i, v)
	g.gate.byKey.parked(&i, v)
	return true
}

// begin makes a batch of what is gathered, in the order of the log. It returns nil if
// that may not run yet; then it is back in the queue.
func (g *gatherer) begin(now time.Time, asks *bool) (b *Batch, reopens <-chan time.Time) {
	ok := false
	slices.SortFunc(g.Items, func(a, b queue.Item) int { return cmp.Compare(a.Seq, b.Seq) })
	kept := g.Items[:0]
	for _, i := range g.Items {
		if !g.dismiss(i) { // that may have changed while they were gathered
			kept = append(kept, i)
		}
	}
	clear(g.Items[len(kept):])
	g.Items = kept
	if len(g.Items) == 0 {
		g.Since, g.Full = time.Time{}, false
		return nil, nil
	}
	first := g.Items[0]
	settings := g.cfg.Settings(first.Type)
	if g.cfg.Limits != nil && !g.limits.askBatch(settings) {
		g.PutBack()
		return nil, nil
	}
	permits := g.permits[:0]
	if b := g.cfg.Breaker; b != nil {
		for _, i := range g.Items {
			permit, ok := b.Acquire(now, i.Seq)
			if !ok {
				break
			}
			permits = append(permits, permit)
		}
		g.permits = permits
		if len(permits) == 0 {
			g.PutBack()
			return nil, reopening(b, now)
		}
		g.queue.GiveBack(g.Items[len(permits):]...) // a half-open breaker is probed with one
		clear(g.Items[len(permits):])
		g.Items = g.Items[:len(permits)]
	}
	if *asks = first.Suspect; !g.gate.pass(first.Suspect) {
		for _, permit := range permits {
			permit.Release()
		}
		g.PutBack() // there will be a signal
		return nil, nil
	}
	var granted *queue.Limited
	if g.cfg.Limits != nil {
		if granted, ok = g.limits.takeBatch(); !ok {
			*asks = false
			for _, permit := range permits {
				permit.Release()
			}
			g.gate.leave(first.Suspect)
			g.PutBack()
			return nil, nil
		}
	}
	b = &Batch{site: g.site, limits: granted, alone: first.Suspect, runs: make([]run, len(g.Items))}
	for at := range g.Items {
		r := &b.runs[at]
		g.queue.Enter(&g.Items[at])
		r.Item, r.site, r.alone = g.Items[at], g.site, b.alone
		r.settings, r.Limits = r.inForce(), granted
		r.initial.started = now
		if len(permits) > 0 {
			r.initial.permit = permits[at]
		}
	}
	g.Drop()
	g.Since, g.Full = time.Time{}, false
	return b, nil
}
