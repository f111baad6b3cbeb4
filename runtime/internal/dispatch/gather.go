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

// gathering is what a subscription with batches gathers. It is guarded by the turn.
type gathering struct {
	items   []item
	permits []breaker.Permit // memory of beginBatch
	since   time.Time        // when the first of them was taken; zero for none
	full    bool             // nothing is to be added
	timer   *time.Timer      // ends the wait for more
}

// nextBatch waits for a batch that may run. It reports false when the subscription is
// stopping.
func (s *Scheduler) nextBatch() (b *Batch, ok bool) {
	if !s.turn.take() && !s.awaitTurn(&worker{}) {
		return nil, false
	}
	defer func() {
		if b == nil {
			s.putBackGathered()
			s.unlisten()
			s.leaveLine()
		}
		s.turn.give()
	}()
	for looked := false; ; {
		if s.stopped.Load() {
			return nil, false
		}
		if s.limits.listens { // it takes its turn at once
			if b, _ = s.takeBatch(); b != nil {
				s.unlisten()
				s.began(looked)
				return b, true
			}
			s.unlisten()
		}
		pause, _ := s.fill(s.extra.Load() > 0)
		if s.stopped.Load() { // keys may be missing
			return nil, false
		}
		b, reopens := s.takeBatch()
		if b != nil {
			s.began(looked)
			return b, true
		}
		s.listen()
		if reopens == nil && s.pollsOn() {
			continue
		}
		s.stalls.wait(looked)
		looked = false
		ripe := s.waitForMore()
		s.rests.Store(true)
		select {
		case <-s.wake:
			s.woken()
		case <-pause:
			s.more = true
		case <-reopens:
		case <-ripe:
		case <-s.stalls.looks:
			looked = s.lookAgain(pause, reopens, ripe)
		case <-s.stopping:
			return nil, false
		}
		s.rests.Store(false)
	}
}

// waitForMore returns a channel that says when the batch is to begin that is gathered; nil if
// none is, or it cannot begin.
func (s *Scheduler) waitForMore() <-chan time.Time {
	g := &s.gathering
	if len(g.items) == 0 || s.asks {
		return nil
	}
	_, wait := s.cfg.Batch()
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
func (s *Scheduler) takeBatch() (b *Batch, reopens <-chan time.Time) {
	asks := s.asks // for a suspect, to run alone
	s.limits.tried = false
	if !asks {
		b, reopens = s.gatherBatch(&asks)
	}
	if !s.limits.tried {
		s.leaveLine()
	}
	if !asks && s.cfg.Alone.closed.Load() {
		s.cfg.Alone.pass(s)
	}
	return b, reopens
}

func (s *Scheduler) gatherBatch(asks *bool) (b *Batch, reopens <-chan time.Time) {
	g := &s.gathering
	now := time.Now()
	if s.gate.paused.Load() {
		s.putBackGathered()
		return nil, nil
	}
	probes := false
	if b := s.cfg.Breaker; b != nil {
		status := b.Status(now)
		if status.State == breaker.Open && status.Until.After(now) {
			s.putBackGathered()
			return nil, reopening(b, now)
		}
		probes = status.State != breaker.Closed
	}
	g.full = g.full || s.extra.Load() > 0 && s.queue.anyAwaited(g.items)
	size, wait := s.cfg.Batch()
	for len(g.items) < g.limit(size) && !g.full {
		i, ok := s.queue.gather(s.cfg.Strict)
		if !ok {
			break
		}
		if s.dismiss(i) {
			continue
		}
		if until := s.loops(i); !until.IsZero() {
			s.queue.enter(&i)
			if s.putOff(i, until) {
				continue
			}
			s.queue.giveBack(i)
			s.putBackGathered() // from before the loop was known: it does not wait for more meanwhile
			return nil, time.After(time.Until(until))
		}
		solo := s.solo(i, now.Add(wait))
		if len(g.items) > 0 && (solo || i.Together != g.items[0].Together) {
			s.queue.giveBack(i)
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
	if !g.full && !s.pollsOn() && (g.items[0].Suspect || s.cfg.Strict && s.queue.heldUpBy(g.items)) {
		g.full = true
	}
	if len(g.items) < g.limit(size) && !g.full && now.Sub(g.since) < wait {
		return nil, nil
	}
	return s.beginBatch(now, asks)
}

// limit returns how many deliveries the batch may have that is gathered.
func (g *gathering) limit(size int) int {
	if len(g.items) > 0 && g.items[0].Suspect {
		return min(size, int(g.items[0].Together))
	}
	return size
}

// solo tells whether a delivery has a batch of its own. The batch begins at the given time at
// the latest.
func (s *Scheduler) solo(i item, begins time.Time) bool {
	if i.Failures == 0 {
		return false
	}
	settings := i.own().over(s.cfg.Settings(i.Type))
	// Which policy decides is known when the handler has failed.
	if s.isLast(i, settings, settings.Retry, begins) {
		return true
	}
	for _, rule := range settings.Errors {
		if !rule.Permanent && s.isLast(i, settings, rule.Retry, begins) {
			return true
		}
	}
	return false
}

// isLast tells whether a policy allows no attempt after one that begins at the given time,
// or one that would come when the event has expired.
func (s *Scheduler) isLast(i item, settings *Settings, policy retry.Policy, begins time.Time) bool {
	failures := i.Failures + 1
	if policy.Exhausted(failures) {
		return true
	}
	due := begins.Add(policy.Jittered(failures+1, i.ID, s.cfg.Name))
	return settings.ExpiresAfter > 0 && due.Sub(i.Since) >= settings.ExpiresAfter
}

// dismiss settles a delivery that was taken from the queue, if it must not be tried now.
func (s *Scheduler) dismiss(i item) bool {
	v := s.dismissal(&i, i.own().over(s.cfg.Settings(i.Type)))
	if v == nil {
		return false
	}
	s.queue.enter(&i)
	s.settle(&i, *v)
	return true
}

// putBackGathered undoes the gathering. The time since the first delivery was taken goes
// on, if there is one.
func (s *Scheduler) putBackGathered() {
	s.queue.giveBack(s.gathering.items...)
	s.gathering.drop()
	s.gathering.full = false
}

// drop forgets the deliveries.
func (g *gathering) drop() {
	clear(g.items)
	g.items = g.items[:0]
}

// beginBatch makes a batch of what is gathered, in the order of the log. It returns nil if
// that may not run yet; then it is back in the queue.
func (s *Scheduler) beginBatch(now time.Time, asks *bool) (b *Batch, reopens <-chan time.Time) {
	g, ok := &s.gathering, false
	slices.SortFunc(g.items, func(a, b item) int { return cmp.Compare(a.Seq, b.Seq) })
	kept := g.items[:0]
	for _, i := range g.items {
		if !s.dismiss(i) { // that may have changed while they were gathered
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
	settings := s.cfg.Settings(first.Type)
	if limit := settings.FailureThrottle; limit > 0 && int(s.gate.streak.Load()) >= limit && s.gate.active.Load() > 0 {
		s.putBackGathered() // the one that runs will signal
		return nil, nil
	}
	if s.cfg.Limits != nil && !s.askBatchLimits(settings) {
		s.putBackGathered()
		return nil, nil
	}
	permits := g.permits[:0]
	if b := s.cfg.Breaker; b != nil {
		for _, i := range g.items {
			permit, ok := b.Acquire(now, i.Seq)
			if !ok {
				break
			}
			permits = append(permits, permit)
		}
		g.permits = permits
		if len(permits) == 0 {
			s.putBackGathered()
			return nil, reopening(b, now)
		}
		s.queue.giveBack(g.items[len(permits):]...) // a half-open breaker is probed with one
		clear(g.items[len(permits):])
		g.items = g.items[:len(permits)]
	}
	if *asks = first.Suspect; !s.pass(first.Suspect) {
		for _, permit := range permits {
			permit.Release()
		}
		s.putBackGathered() // there will be a signal
		return nil, nil
	}
	var granted *limited
	if s.cfg.Limits != nil {
		if granted, ok = s.takeBatchLimits(); !ok {
			*asks = false
			for _, permit := range permits {
				permit.Release()
			}
			s.leave(first.Suspect)
			s.putBackGathered()
			return nil, nil
		}
	}
	if granted.tooLate() { // which says nothing about the handler
		for _, permit := range permits {
			permit.Release()
		}
		permits = nil
	}
	b = &Batch{scheduler: s, limits: granted, alone: first.Suspect, runs: make([]run, len(g.items))}
	for at := range g.items {
		r := &b.runs[at]
		s.queue.enter(&g.items[at])
		r.item, r.scheduler, r.alone = g.items[at], s, b.alone
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

// gather removes the next delivery that may join a batch. It has no key until enter, so
// that the next one of the key may join it, but with onePerKey and for an urgent one.
func (q *queue) gather(onePerKey bool) (item, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.urgent) > 0 && !q.suspected() {
		if i, ok := q.popUrgent(false); ok {
			i.entered = true
			return i, true
		}
	}
	for {
		r, ok := q.turn()
		if !ok {
			return item{}, false
		}
		i := q.ready[r].pop()
		if i.key != "" {
			p := q.keys[i.key]
			p.ready = false
			if p.taken() { // by a batch that runs
				p.behind = slices.Insert(p.behind, 0, i)
				continue
			}
			if onePerKey {
				p.enter(i.Seq)
				i.entered = true
			} else if next, ok := p.next(); ok {
				q.ready[rank(next.priority)].insert(next)
			} else if p.idle() {
				delete(q.keys, i.key)
			}
		}
		q.size--
		return i, true
	}
}

// anyAwaited tells whether a handler waits for the event of one of these deliveries.
func (q *queue) anyAwaited(items []item) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.ContainsFunc(items, func(i item) bool {
		_, awaited := q.awaitedEvents[i.Seq]
		return awaited
	})
}

// heldUpBy tells whether deliveries in memory wait for the keys of gathered ones.
func (q *queue) heldUpBy(items []item) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.ContainsFunc(items, func(i item) bool {
		p := q.keys[i.key]
		return i.key != "" && p != nil && len(p.behind) > 0
	})
}

// enter gives a delivery that was gathered its key.
func (q *queue) enter(i *item) {
	if i.key == "" || i.entered {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	p := q.partition(i.key)
	if p.ready { // the next one of the key was to join
		q.withdraw(i.key, p)
	}
	p.enter(i.Seq)
	i.entered = true
}

// giveBack undoes gather for deliveries, in the order in which they were taken.
func (q *queue) giveBack(items ...item) {
	if len(items) == 0 {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.size += len(items)
	for _, i := range slices.Backward(items) {
		entered := i.entered
		i.entered = false
		if i.key == "" {
			if i.urgent {
				q.urgent = slices.Insert(q.urgent, 0, i)
			} else {
				q.ready[rank(i.priority)].unpop(i)
			}
			continue
		}
		if p := q.keys[i.key]; p != nil && entered { // else the queue was drained
			p.exit(i.Seq)
		}
		p := q.partition(i.key)
		if i.urgent {
			q.urgent = slices.Insert(q.urgent, 0, i)
			continue
		}
		if p.ready {
			q.withdraw(i.key, p)
		}
		p.behind = slices.Insert(p.behind, 0, i)
	}
	for _, i := range slices.Backward(items) {
		if p := q.keys[i.key]; p != nil {
			q.promote(i.key, p)
		}
	}
}
