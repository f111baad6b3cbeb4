package systest

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

const (
	modelGrace = time.Second          // what a handler has after its deadline, or after an interruption
	writeDelay = 5 * time.Millisecond // how long a success may stay in memory
)

// begin notes that a handler is called. It returns nil if the process was killed:
// nothing happens in it any more.
func (m *model) begin(at *attachment, e seen) *run {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	if at.isGone() {
		return nil
	}
	event := m.events[e.number]
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
		p.current.overdue(now)
	}
	m.checkBegin(at, p, e, now)
	if p.state == pairDone {
		p.state, p.forgot = pairOpen, false
	}
	if p.ran.IsZero() {
		p.ran = now
		at.sub.firsts = append(at.sub.firsts, p)
	}
	p.exact = false
	r := &run{pair: p, at: at, began: now, deadline: now.Add(at.sub.timeout)}
	p.runs++
	if !m.healthy {
		r.plan = m.draw(p)
	}
	p.current = r
	at.running[r] = true
	m.trace("%v begins attempt %d", p, e.attempt)
	return r
}

// checkBegin objects to an execution that must not be.
func (m *model) checkBegin(at *attachment, p *pair, e seen, now time.Time) {
	again := p.state == pairDone && p.forgot
	switch {
	case p.state != pairOpen && !again:
		m.t.Errorf("%v runs again as attempt %d, and it was settled at %v (state %d)", p, e.attempt, p.settled, p.state)
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
	if p.killed && p.failures+p.others == 0 && e.attempt == 2 {
		p.others = 1 // which a kill has made forgotten, if it happened
	}
	if e.attempt != p.failures+p.others+1 || again && e.attempt == 1 {
		m.t.Errorf("%v runs as attempt %d after %d failures and %d other executions (killed %v, again %v)", p, e.attempt, p.failures, p.others, p.killed, again)
	}
	m.checkAlone(p, now)
	if e.max != at.sub.policy.MaxAttempts+p.others || e.typ != p.event.typ || e.subscription != at.sub.name {
		m.t.Errorf("%v is announced as %+v", p, e)
	}
	if late := now.Sub(due); p.exact && late > time.Millisecond && !at.sub.strict &&
		len(at.running) == 0 && !at.quiet.After(due) && !at.since.After(due) && !m.resumed.After(due) && !m.serial.After(due) && !m.suspects() {
		m.t.Errorf("%v runs %v after it was due, and its subscription had nothing else to do", p, late)
	}
	running := 0
	for other := range at.running {
		other.overdue(now)
		if now.Before(other.deadline.Add(modelGrace)) {
			running++
		}
		if at.sub.keyed && p.event.key != "" && other.event.key == p.event.key && !other.over {
			m.t.Errorf("%v runs beside %v, which has the same key", p, other.pair)
		}
	}
	if running >= at.sub.concurrency {
		m.t.Errorf("%v is one of %d handlers that run at once in %s", p, running+1, at.sub.name)
	}
}

// checkAlone objects to what runs beside a suspect.
func (m *model) checkAlone(p *pair, now time.Time) {
	if p.suspect {
		m.serial = now
	}
	for _, s := range m.subscriptions {
		for _, at := range s.attachments {
			for other := range at.running {
				other.overdue(now)
				leftBehind := !now.Before(other.deadline.Add(modelGrace)) || !at.cancelled.IsZero() && !now.Before(at.cancelled.Add(modelGrace))
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

// returns notes that a handler is about to return, panic or exit, which would count as
// the given kind of failure, or "" for a success.
func (m *model) returns(ctx context.Context, r *run, kind string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.at.isGone() {
		return
	}
	now := time.Now()
	delete(r.at.running, r)
	r.at.quiet = now
	switch r.overdue(now); {
	case r.over:
		r.lapsed = true
	case kind == "":
		r.succeed(now)
	case context.Cause(ctx) == runtime.ErrShutdown:
		r.release()
	default:
		r.fail(kind, now)
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

func (r *run) decide() {
	r.at.model.trace("%v has a disposition; it failed %d times before", r.pair, r.failures)
	if r.suspect {
		r.at.model.serial = time.Now()
	}
	r.over, r.current, r.crashed, r.suspect, r.together, r.waits = true, nil, false, false, 0, false
}

func (r *run) release() {
	suspect, crashed, together := r.suspect, r.crashed, r.together
	r.decide()
	r.suspect, r.crashed, r.together = suspect, crashed, together // as before: it says nothing
	r.others++
	r.due, r.exact = time.Time{}, false
}

func (r *run) succeed(now time.Time) {
	r.decide()
	r.state, r.doneAt, r.isFinal = pairDone, now, false
	r.isPlain = len(r.children) == 0 && len(r.attempts) == 0 && r.others == 0
	if r.pair.settled.IsZero() {
		r.pair.settled = now
	}
	for _, child := range r.children {
		r.at.model.addLocked(child)
	}
}

func (r *run) fail(kind string, at time.Time) {
	r.decide()
	r.countFailure(kind, at)
	if r.failures >= r.sub.policy.MaxAttempts {
		r.state = pairDead
		return
	}
	r.due, r.exact, r.waits = at.Add(r.sub.policy.Delay(r.failures+1)), true, true
}

// crash ends an execution with the process. It counts if nothing else ran, and so does the one
// before that did not count because others ran, and that has made it a suspect.
func (p *pair) crash(alone bool, now time.Time) {
	crashed, suspect, together := p.crashed, p.suspect, p.together
	p.current.decide()
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
	if p.failures >= p.sub.policy.MaxAttempts && p.settled.IsZero() {
		p.settled = at
	}
}
