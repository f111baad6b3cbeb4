package conformance

import (
	"context"
	"time"

	"github.com/busgen/busgen/runtime"
)

// How the model follows an execution, and what it objects to.

// run is one execution of a handler.
type run struct {
	*pair
	at       *attachment
	began    time.Time
	deadline time.Time
	plan     plan
	over     bool          // it has a disposition
	lapsed   bool          // it had one before the handler returned
	children []*modelEvent // published with its context
	beside   *run          // the first one of its batch; nil outside of batches
}

// turn is what the members of a group do one after the other, until one fails or all have handled the event.
type turn struct {
	done     int           // so many have handled it, in this turn or before
	children []*modelEvent // published by those of this turn
	attempt  int
	last     *run      // the one before the next member is called
	ended    time.Time // when it has ended
}

// lapse ends a turn in which no further member was called, because the delivery was discarded.
func (p *pair) lapse(now time.Time) {
	if p.current == nil && p.turn != nil && p.cancelled != "" && !now.Before(p.turn.ended) {
		p.turn.last.release()
	}
}

// attachment is a handler that is subscribed to a name on one bus.
type attachment struct {
	*runtime.Subscription
	model *model
	sub   *modelSubscription
	bus   *runtime.Bus
	since time.Time
	gone  chan struct{} // closed when the process is killed

	// Under model.mu:
	running   map[*run]bool
	quiet     time.Time // when the last handler ended
	cancelled time.Time // when the handlers that still run are interrupted; zero for never
}

// modelGrace is what a handler has after its deadline, or after an interruption.
const modelGrace = time.Second

// begin notes that a handler is called. It returns nil if the process was killed:
// nothing happens in it any more.
func (m *model) begin(at *attachment, member int, e seen) *run {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.handed(at, e)
	if p == nil {
		return nil
	}
	if t := p.turn; t != nil && p.current == nil && member > 0 && member == t.done {
		return m.goOn(at, p, e)
	}
	if member != p.progress {
		m.t.Errorf("%v is given to member %d of its group, and %d have handled it", p, member, p.progress)
	}
	m.checkBegin(at, p, e, nil)
	return m.note(at, p, e)
}

// handed returns the delivery of an event that a handler is given.
func (m *model) handed(at *attachment, e seen) *pair {
	if at.isGone() {
		return nil
	}
	event := m.events[e.number]
	if event == nil { // a later member of a group has timed out, or is not called, and what an earlier one has published is there
		m.each(func(p *pair) { p.lapse(time.Now()) })
		event = m.events[e.number]
	}
	if event == nil {
		m.t.Errorf("%s got event %d, which was not published", at.sub.name, e.number)
		return nil
	}
	p := event.pairs[at.sub.name]
	if p == nil {
		m.t.Errorf("%s got event %d, which is not for it", at.sub.name, e.number)
		return nil
	}
	if p.current != nil {
		p.current.overdue(time.Now())
	}
	return p
}

// goOn notes that the next member of a group is called.
func (m *model) goOn(at *attachment, p *pair, e seen) *run {
	now := time.Now()
	if e.attempt != p.turn.attempt || p.state != pairOpen || p.cancelled != "" && !now.Before(p.unseen) {
		m.t.Errorf("%v goes on with member %d as attempt %d, it was %d (state %d, cancelled %q)", p, p.turn.done, e.attempt, p.turn.attempt, p.state, p.cancelled)
	}
	m.checkAlone(p, nil, now)
	return m.start1(at, p, now)
}

// beginBatch notes that a handler of batches is called.
func (m *model) beginBatch(at *attachment, all []seen) (runs []*run) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(all) == 0 || len(all) > at.sub.batch {
		m.t.Errorf("%s has a batch of %d", at.sub.name, len(all))
	}
	var first *run
	for _, e := range all {
		p := m.handed(at, e)
		if p == nil {
			return nil
		}
		if len(all) > 1 && p.failures > 0 && p.failures+1 >= p.sub.policy.MaxAttempts {
			m.t.Errorf("%v is in a batch of %d, and may be tried once more", p, len(all))
		}
		m.checkBegin(at, p, e, first)
		if first != nil && first.suspect != p.suspect {
			m.t.Errorf("%v (suspect: %v) is in a batch with %v (suspect: %v)", p, p.suspect, first.pair, first.suspect)
		}
		r := m.note(at, p, e)
		if first == nil {
			first = r
		}
		r.beside = first
		runs = append(runs, r)
	}
	return runs
}

// note notes an execution that has begun, the first one of a turn.
func (m *model) note(at *attachment, p *pair, e seen) *run {
	now := time.Now()
	if p.state == pairDone {
		p.state, p.forgot = pairOpen, false
	}
	if p.ran.IsZero() {
		p.ran = now
		at.sub.firsts = append(at.sub.firsts, p)
	}
	p.exact = false
	p.turn = &turn{done: p.progress, attempt: e.attempt}
	return m.start1(at, p, now)
}

func (m *model) start1(at *attachment, p *pair, now time.Time) *run {
	r := &run{pair: p, at: at, began: now, deadline: now.Add(at.sub.timeout)}
	r.plan = m.draw(p)
	p.runs++
	p.current = r
	m.noteBusy(p.sub, now)
	at.running[r] = true
	m.trace("%v begins attempt %d", p, p.turn.attempt)
	return r
}

// checkBegin objects to an execution that must not be.
func (m *model) checkBegin(at *attachment, p *pair, e seen, batch *run) {
	now := time.Now()
	p.takeUnclaimed(e)
	if p.state == pairDiscarded && now.Before(p.unseen) { // the owner has not looked since the discard
		p.state, p.cancelled, p.reason, p.settled = pairOpen, p.reason, "", time.Time{}
	}
	again := p.state == pairDone && p.forgot
	switch {
	case p.state != pairOpen && !again:
		m.t.Errorf("%v runs again as attempt %d, and it was settled at %v (%v, %s)", p, e.attempt, m.since(p.settled), p.state, p.reason)
	case p.doomed():
		m.t.Errorf("%v runs again, and its %d attempts are used up", p, p.failures)
	case p.current != nil:
		m.t.Errorf("%v runs twice at the same time", p)
	case now.Before(p.due.Add(-time.Microsecond)): // that is how precisely due times are stored
		m.t.Errorf("%v runs %v before it is due", p, p.due.Sub(now))
	}
	due := p.due
	if p.risks() && due.Before(m.young) && m.loops {
		due = m.young
		if now.Before(due.Add(-time.Microsecond)) {
			m.t.Errorf("%v runs in a crash loop, after %d failures", p, p.failures)
		}
	}
	if m.isPaused(p) {
		m.t.Errorf("%v runs while it is paused", p)
	}
	if p.maybe && p.failures+p.others == 0 && e.attempt == 2 {
		p.others = 1 // which a kill has made forgotten, if it happened
	}
	if e.attempt != p.failures+p.others+1 || again && e.attempt == 1 {
		m.t.Errorf("%v runs as attempt %d after %d failures and %d other executions (maybe %v, again %v)", p, e.attempt, p.failures, p.others, p.maybe, again)
	}
	m.checkAlone(p, batch, now)
	if old := p.before; old != nil && now.Before(p.undone) && e.max == at.sub.policy.MaxAttempts+old.others {
		p.doubt = old.failures == 0 && old.snoozes > 0 // both have the same number
		p.failures, p.others, p.together, p.snoozes = old.failures, old.others, old.together, old.snoozes
	}
	p.before = nil
	if e.max != at.sub.policy.MaxAttempts+p.others || e.typ != p.event.typ || at.sub.members == 0 && e.subscription != at.sub.name {
		m.t.Errorf("%v is announced as %+v, want %d attempts at most", p, e, at.sub.policy.MaxAttempts+p.others)
	}
	if late := now.Sub(due); p.exact && late > time.Millisecond && !at.sub.strict && at.sub.batch == 0 &&
		len(at.running) == 0 && !at.quiet.After(due) && !at.since.After(due) && !m.resumed.After(due) && !m.serial.After(due) && !m.suspects() {
		m.t.Errorf("%v runs %v after it was due, and its subscription had nothing else to do", p, late)
	}
	running := 0
	for other := range at.running {
		other.overdue(now)
		if batch != nil && (other == batch || other.beside == batch) {
			continue
		}
		if now.Before(other.deadline.Add(modelGrace)) {
			running++
		}
		if at.sub.keyed && p.event.key != "" && other.event.key == p.event.key && !other.over {
			m.t.Errorf("%v runs beside %v, which has the same key", p, other.pair)
		}
	}
	if at.sub.batch == 0 && running >= at.sub.concurrency || at.sub.batch > 0 && running >= at.sub.batch {
		m.t.Errorf("%v is one of %d handlers that run at once in %s", p, running+1, at.sub.name)
	}
}

// checkAlone objects to what runs beside a suspect.
func (m *model) checkAlone(p *pair, batch *run, now time.Time) {
	if p.suspect {
		m.serial = now
	}
	for _, s := range m.subscriptions {
		for _, at := range s.attachments {
			for other := range at.running {
				other.overdue(now)
				leftBehind := !now.Before(other.deadline.Add(modelGrace)) || !at.cancelled.IsZero() && !now.Before(at.cancelled.Add(modelGrace))
				if batch != nil && (other == batch || other.beside == batch) {
					continue
				}
				if (p.suspect || other.suspect && !other.over) && !leftBehind {
					m.t.Errorf("%v (suspect: %v) runs beside %v (suspect: %v)", p, p.suspect, other.pair, other.suspect)
				}
			}
		}
	}
}

// suspects tells whether there are any.
func (m *model) suspects() (any bool) {
	m.each(func(p *pair) { any = any || p.suspect && p.state == pairOpen })
	return any
}

// returns notes that a handler is about to return, panic or exit, which would end it in the
// given way.
func (m *model) returns(ctx context.Context, r *run, ends string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.at.isGone() {
		return
	}
	now := time.Now()
	m.trace("%v ends with %q", r.pair, ends)
	delete(r.at.running, r)
	r.at.quiet = now
	switch r.overdue(now); {
	case r.over:
		r.lapsed = true
	case ends == "":
		r.succeed(now)
	case context.Cause(ctx) == runtime.ErrShutdown:
		r.release()
	case ends == "snooze":
		r.snooze(now)
	case ends == "discard":
		r.discard("its handler says so", now)
	default:
		r.fail(ends, now)
	}
}

// overdue gives an execution the disposition that time has given it.
func (r *run) overdue(now time.Time) {
	given := r.at.cancelled.Add(modelGrace) // back, when an interruption was ignored
	switch {
	case r.over:
	case !r.at.cancelled.IsZero() && !given.After(now) && given.Before(r.deadline):
		r.fail("interrupted", given)
	case !r.deadline.After(now):
		r.fail("timeout", r.deadline)
	}
}

// decide ends the turn of a delivery. What it has achieved is kept, unless the process has ended.
func (r *run) decide(crashed bool) {
	r.at.model.trace("%v has a disposition; it failed %d times before", r.pair, r.failures)
	if r.suspect {
		r.at.model.serial = time.Now()
	}
	if !crashed {
		r.progress = r.turn.done
		for _, child := range r.turn.children {
			r.at.model.addLocked(child)
		}
	}
	r.over, r.current, r.turn, r.crashed, r.suspect, r.together, r.waits = true, nil, nil, false, false, 0, false
}

func (r *run) release() {
	suspect, crashed, together := r.suspect, r.crashed, r.together
	r.decide(false)
	r.suspect, r.crashed, r.together = suspect, crashed, together // as before: it says nothing
	r.others++
	r.due, r.exact = time.Time{}, false
	r.endCancelled(time.Now())
}

func (r *run) succeed(now time.Time) {
	if r.turn.done+1 < r.sub.members {
		r.turn.done++
		r.turn.children = append(r.turn.children, r.children...)
		if r.cancelled != "" && !now.Before(r.unseen) || !r.at.cancelled.IsZero() {
			r.release()
			return
		}
		r.over, r.current = true, nil // the next member is called now
		r.turn.last, r.turn.ended = r, now
		return
	}
	r.decide(false)
	r.cancelled = ""
	r.state, r.doneAt, r.isFinal = pairDone, now, false
	r.isPlain = len(r.children) == 0 && len(r.attempts) == 0 && r.others == 0
	r.settle(now)
	for _, child := range r.children {
		r.at.model.addLocked(child)
	}
}

func (r *run) fail(kind string, at time.Time) {
	permanent := kind == "permanent"
	if permanent {
		kind = "error"
	}
	r.decide(false)
	r.countFailure(kind, at)
	last := r.failures >= r.sub.policy.MaxAttempts
	switch {
	case r.endCancelled(at):
	case permanent:
		r.die("permanent", at)
	case last:
		r.die("max_attempts", at)
	default:
		r.due, r.exact, r.waits = at.Add(r.sub.policy.Delay(r.failures+1)), true, true
	}
}

func (r *run) snooze(now time.Time) {
	r.decide(false)
	if r.snoozes >= r.sub.snoozes {
		if r.countFailure("error", now); !r.endCancelled(now) {
			r.die("max_snoozes", now)
		}
		return
	}
	r.others++
	r.snoozes++
	if !r.endCancelled(now) {
		r.due, r.exact, r.waits = now.Add(r.plan.snooze), true, true
	}
}

// discard ends a delivery by the word of its handler.
func (r *run) discard(reason string, now time.Time) {
	r.decide(false)
	r.others++
	r.state, r.reason, r.cancelled, r.wasDead = pairDiscarded, reason, "", ""
	r.settle(now)
}

// endCancelled ends a delivery that somebody has cancelled or discarded while its handler ran.
func (p *pair) endCancelled(now time.Time) bool {
	if p.cancelled == "" {
		return false
	}
	p.state, p.reason, p.cancelled, p.wasDead = pairDiscarded, p.cancelled, "", ""
	p.settle(now)
	return true
}

func (p *pair) die(reason string, now time.Time) {
	p.state, p.reason = pairDead, reason
	p.settle(now)
}

// settle notes when a delivery was settled first.
func (p *pair) settle(now time.Time) {
	if p.settled.IsZero() {
		p.settled = now
	}
}

// crash ends an execution with the process. It counts if nothing else ran, and so does the one
// before that did not count because others ran, and that has made it a suspect.
func (p *pair) crash(alone bool, now time.Time) {
	crashed, suspect, together := p.crashed, p.suspect, p.together
	p.current.decide(true)
	p.crashed, p.suspect, p.due, p.exact = crashed, true, time.Time{}, false
	if !alone {
		p.others++
		if p.together = together; !suspect {
			p.together++
		}
		return
	}
	p.crashed, p.others = true, p.others-together
	for range 1 + together {
		p.countFailure("crash", now)
	}
}

// countFailure notes a failed attempt.
func (p *pair) countFailure(kind string, at time.Time) {
	p.failures++
	p.attempts = append(p.attempts, kind)
	if p.failures >= p.sub.policy.MaxAttempts {
		p.settle(at)
	}
}
