package dispatch

import (
	"cmp"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/retry"
)

// A subscription with [Config].Batch hands its deliveries over in batches. Whoever has the
// turn gathers one: deliveries that are gathered have left the queue and have not begun.
// They have no partition key, so that later deliveries of the same key can join them, and
// they have not passed the gate, so that nothing waits for a batch that is not full. What
// cannot begin goes back into the queue: the subscription or the event type is paused, the
// breaker is open, the failure throttle or a suspect of a crash holds it, or it stops.
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
	*gathering

	permits []breaker.Permit // memory of begin
	timer   *time.Timer      // ends the wait for more
}

// nextBatch waits for a batch that may run. It reports false when the subscription is
// stopping.
func (g *gatherer) next() (b *Batch, ok bool) {
	if !g.intake.turn.take() && !g.intake.awaitTurn(&worker{}) {
		return nil, false
	}
	defer func() {
		if b == nil {
			g.putBack()
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
	if len(g.items) == 0 || g.intake.asks {
		return nil
	}
	_, wait := g.cfg.Batch()
	left := wait - time.Since(g.since)
	if g.timer == nil {
		g.timer = time.NewTimer(left)
	} else {
		g.timer.Reset(left)
	}
	return g.timer.C
}

// takeBatch gathers, and begins the batch if it is full or has waited for long enough. If
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
		g.putBack()
		return nil, nil
	}
	probes := false
	if b := g.cfg.Breaker; b != nil {
		status := b.Status(now)
		if status.State == breaker.Open && status.Until.After(now) {
			g.putBack()
			return nil, reopening(b, now)
		}
		probes = status.State != breaker.Closed
	}
	g.full = g.full || g.extra.Load() > 0 && g.queue.anyAwaited(g.items)
	size, wait := g.cfg.Batch()
	for len(g.items) < g.limit(size) && !g.full {
		i, ok := g.queue.gather(g.cfg.Strict)
		if !ok {
			break
		}
		if g.dismiss(i) {
			continue
		}
		if until := g.loops(i); !until.IsZero() {
			g.queue.enter(&i)
			if g.settler.putOff(i, until) {
				continue
			}
			g.queue.giveBack(i)
			g.putBack() // from before the loop was known: it does not wait for more meanwhile
			return nil, time.After(time.Until(until))
		}
		solo := g.solo(i, now.Add(wait))
		if len(g.items) > 0 && (solo || i.Together != g.items[0].Together) {
			g.queue.giveBack(i)
			g.full = true
			continue
		}
		g.full = solo || i.urgent || probes // a handler waits for it; or it is the one probe
		if g.since.IsZero() {
			g.since = now
		}
		g.items = append(g.items, i)
	}
	if len(g.items) == 0 {
		return nil, nil
	}
	if !g.full && !g.intake.pollsOn() && (g.items[0].Suspect || g.cfg.Strict && g.queue.heldUpBy(g.items)) {
		g.full = true
	}
	if len(g.items) < g.limit(size) && !g.full && now.Sub(g.since) < wait {
		return nil, nil
	}
	return g.begin(now, asks)
}

// solo tells whether a delivery has a batch of its own. The batch begins at the given time at
// the latest.
func (g *gatherer) solo(i item, begins time.Time) bool {
	if i.Failures == 0 {
		return false
	}
	settings := i.own().over(g.cfg.Settings(i.Type))
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
func (g *gatherer) isLast(i item, settings *Settings, policy retry.Policy, begins time.Time) bool {
	failures := i.Failures + 1
	if policy.Exhausted(failures) {
		return true
	}
	due := begins.Add(policy.Jittered(failures+1, i.ID, g.cfg.Name))
	return settings.ExpiresAfter > 0 && due.Sub(i.Since) >= settings.ExpiresAfter
}

// dismiss settles a delivery that was taken from the queue, if it must not be tried now.
func (g *gatherer) dismiss(i item) bool {
	v := g.gate.dismissal(&i, i.own().over(g.cfg.Settings(i.Type)))
	if v == nil {
		return false
	}
	g.queue.enter(&i)
	g.settler.settle(&i, *v)
	return true
}

// beginBatch makes a batch of what is gathered, in the order of the log. It returns nil if
// that may not run yet; then it is back in the queue.
func (g *gatherer) begin(now time.Time, asks *bool) (b *Batch, reopens <-chan time.Time) {
	ok := false
	slices.SortFunc(g.items, func(a, b item) int { return cmp.Compare(a.Seq, b.Seq) })
	kept := g.items[:0]
	for _, i := range g.items {
		if !g.dismiss(i) { // that may have changed while they were gathered
			kept = append(kept, i)
		}
	}
	clear(g.items[len(kept):])
	g.items = kept
	if len(g.items) == 0 {
		g.since, g.full = time.Time{}, false
		return nil, nil
	}
	first := g.items[0]
	settings := g.cfg.Settings(first.Type)
	if g.gate.throttled(settings) {
		g.putBack() // the one that runs will signal
		return nil, nil
	}
	if g.cfg.Limits != nil && !g.limits.askBatch(settings) {
		g.putBack()
		return nil, nil
	}
	permits := g.permits[:0]
	if b := g.cfg.Breaker; b != nil {
		for _, i := range g.items {
			permit, ok := b.Acquire(now, i.Seq)
			if !ok {
				break
			}
			permits = append(permits, permit)
		}
		g.permits = permits
		if len(permits) == 0 {
			g.putBack()
			return nil, reopening(b, now)
		}
		g.queue.giveBack(g.items[len(permits):]...) // a half-open breaker is probed with one
		clear(g.items[len(permits):])
		g.items = g.items[:len(permits)]
	}
	if *asks = first.Suspect; !g.gate.pass(first.Suspect) {
		for _, permit := range permits {
			permit.Release()
		}
		g.putBack() // there will be a signal
		return nil, nil
	}
	var granted *limited
	if g.cfg.Limits != nil {
		if granted, ok = g.limits.takeBatch(); !ok {
			*asks = false
			for _, permit := range permits {
				permit.Release()
			}
			g.gate.leave(first.Suspect)
			g.putBack()
			return nil, nil
		}
	}
	if granted.tooLate() { // which says nothing about the handler
		for _, permit := range permits {
			permit.Release()
		}
		permits = nil
	}
	b = &Batch{site: g.site, limits: granted, alone: first.Suspect, runs: make([]run, len(g.items))}
	for at := range g.items {
		r := &b.runs[at]
		g.queue.enter(&g.items[at])
		r.item, r.site, r.alone = g.items[at], g.site, b.alone
		r.settings, r.limits = r.inForce(), granted
		if granted.tooLate() && r.failure() == nil {
			r.fail(granted.failure)
		}
		r.initial.started = now
		if len(permits) > 0 {
			r.initial.permit = permits[at]
		}
	}
	g.drop()
	g.since, g.full = time.Time{}, false
	return b, nil
}
