package runtime_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime"
)

// model knows what a bus has to do. It is told of every execution when it
// begins and ends, and works out what the verdict must be; it objects to
// executions that must not happen.
type model struct {
	t             *testing.T
	seed          uint64
	subscriptions []*modelSubscription // in the order in which they may be made

	mu          sync.Mutex
	made        []*modelSubscription // in the order in which they were made
	events      map[uint64]*modelEvent
	healthy     bool // handlers succeed
	lapses      []string
	interrupted int // deliveries that the next start has to find interrupted
}

// modelEvent is an event that is stored, or is about to be.
type modelEvent struct {
	number uint64 // in its payload; handlers know it by that
	id     uuid.UUID
	typ    string
	key    string           // of its partition
	due    time.Time        // zero unless it is delayed
	pairs  map[string]*pair // by subscription
}

type pairState int

const (
	pairOpen pairState = iota
	pairDone
	pairDead
	pairPurged // was dead, and is forgotten
)

// pair is a delivery: one event for one subscription.
type pair struct {
	event *modelEvent
	sub   *modelSubscription

	state    pairState
	failures int       // attempts charged since it was new or retried by hand
	attempts []string  // kinds of the failed attempts on record
	runs     int       // executions
	ran      time.Time // when it was first executed; zero if never
	settled  time.Time // when it was first settled; zero if never
	redriven bool      // ever retried by hand
	current  *run      // the execution that has no verdict yet

	due     time.Time // no execution before
	exact   bool      // nothing has happened since due was set that may delay it
	doneAt  time.Time
	isFinal bool // somebody was told that it is settled
	isPlain bool // its success needs no row, so it may be written up to 5 ms late
	forgot  bool // done, and a kill may have lost that
	killed  bool // a kill happened since it was published: it may be announced as attempt 2
	crashed bool // the last attempt ended with the process
}

// doomed says that the last attempt ended with the process: it is dead as soon
// as it is looked at.
func (p *pair) doomed() bool {
	return p.state == pairOpen && p.crashed && p.failures >= p.sub.policy.MaxAttempts
}

func (p *pair) String() string { return fmt.Sprintf("%d/%s", p.event.number, p.sub.name) }

// run is one execution of a handler.
type run struct {
	*pair
	at       *attachment
	began    time.Time
	deadline time.Time
	plan     plan
	over     bool          // it has a verdict
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

func newModel(t *testing.T, seed uint64, random *rand.Rand) *model {
	return &model{t: t, seed: seed, subscriptions: drawSubscriptions(random), events: map[uint64]*modelEvent{}}
}

// add takes an event in, for every subscription that exists.
func (m *model) add(e *modelEvent) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.addLocked(e)
}

func (m *model) addLocked(e *modelEvent) {
	e.pairs = map[string]*pair{}
	m.events[e.number] = e
	for _, s := range m.made {
		m.join(e, s)
	}
}

func (m *model) join(e *modelEvent, s *modelSubscription) {
	if s.wants(e.typ) {
		e.pairs[s.name] = &pair{event: e, sub: s, due: e.due, exact: !e.due.IsZero()}
	}
}

// attach notes a handler, and that its name exists from now on.
func (m *model) attach(s *modelSubscription, bus *runtime.Bus) *attachment {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !s.exists {
		s.exists = true
		m.made = append(m.made, s)
		if s.fromBeginning {
			for _, e := range m.events {
				m.join(e, s)
			}
		}
	}
	at := &attachment{model: m, sub: s, bus: bus, since: time.Now(), gone: make(chan struct{}), running: map[*run]bool{}}
	s.attachments = append(s.attachments, at)
	return at
}

// begin is told that a handler is called. It returns nil when the process was
// killed: what happens in it happens no more.
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
	first := p.failures + 1
	mayBeNext := p.killed && len(p.attempts) == 0
	if e.attempt != first && !(mayBeNext && e.attempt == first+1) || again && e.attempt == 1 {
		m.t.Errorf("%v runs as attempt %d after %d failures (killed %v, again %v)", p, e.attempt, p.failures, p.killed, again)
	}
	if e.max != at.sub.policy.MaxAttempts || e.typ != p.event.typ || e.subscription != at.sub.name {
		m.t.Errorf("%v is announced as %+v", p, e)
	}
	if late := now.Sub(p.due); p.exact && late > time.Millisecond && !at.sub.strict &&
		len(at.running) == 0 && !at.quiet.After(p.due) && !at.since.After(p.due) {
		m.t.Errorf("%v runs %v after it was due, and its subscription had nothing else to do", p, late)
	}
	lanes := 0
	for other := range at.running {
		other.overdue(now)
		if now.Before(other.deadline.Add(modelGrace)) {
			lanes++
		}
		if at.sub.keyed && p.event.key != "" && other.event.key == p.event.key && !other.over {
			m.t.Errorf("%v runs beside %v, which has the same key", p, other.pair)
		}
	}
	if lanes >= at.sub.concurrency {
		m.t.Errorf("%v is one of %d handlers that run at once in %s", p, lanes+1, at.sub.name)
	}
}

// returns is told that a handler is about to return, panic or exit, which would
// count as the given kind of failure, or "" for a success.
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

// overdue gives an execution the verdict that time has given it.
func (r *run) overdue(now time.Time) {
	if r.over {
		return
	}
	defer func() {
		if r.over {
			r.at.model.lapses = append(r.at.model.lapses, fmt.Sprintf("%v began %v deadline %v cancelled %v %+v at %v kinds %v", r.pair, r.began.Format("05.000000"), r.deadline.Format("05.000000"), r.at.cancelled.Format("05.000000"), r.plan, now.Format("05.000000"), r.attempts))
		}
	}()
	given := r.at.cancelled.Add(modelGrace) // back, when an interruption was ignored
	switch {
	case r.over:
	case !r.at.cancelled.IsZero() && !given.After(now) && given.Before(r.deadline):
		r.release()
	case !r.deadline.After(now):
		r.fail("timeout", r.deadline)
	}
}

func (r *run) decide() {
	r.over, r.current, r.crashed = true, nil, false
}

func (r *run) release() {
	r.decide()
	r.due, r.exact = time.Time{}, false
}

func (r *run) succeed(now time.Time) {
	r.decide()
	r.state, r.doneAt, r.isFinal = pairDone, now, false
	r.isPlain = len(r.children) == 0 && len(r.attempts) == 0
	if r.pair.settled.IsZero() {
		r.pair.settled = now
	}
	for _, child := range r.children {
		r.at.model.addLocked(child)
	}
}

func (r *run) fail(kind string, at time.Time) {
	r.decide()
	r.charge(kind, at)
	if r.failures >= r.sub.policy.MaxAttempts {
		r.state = pairDead
		return
	}
	r.due, r.exact = at.Add(r.sub.policy.Delay(r.failures+1)), true
}

// charge notes a failed attempt.
func (p *pair) charge(kind string, at time.Time) {
	p.failures++
	p.attempts = append(p.attempts, kind)
	if p.failures >= p.sub.policy.MaxAttempts && p.settled.IsZero() {
		p.settled = at
	}
}

// each visits all deliveries, after time has given the verdicts it gives.
func (m *model) each(visit func(p *pair)) {
	now := time.Now()
	for _, e := range m.events {
		for _, p := range e.pairs {
			if p.current != nil {
				p.current.overdue(now)
			}
			visit(p)
		}
	}
}

// shutDown ends a life in order: what has no verdict was given back.
func (m *model) shutDown() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.each(func(p *pair) {
		if p.current != nil {
			m.t.Errorf("%v still runs after the shutdown", p)
		}
	})
}

// interrupt notes when handlers that still run will be interrupted.
func (m *model) interrupt(at *attachment, when time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at.cancelled = when
}

// kill ends the process: what ran is charged, what is not written is lost.
func (m *model) kill() {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	m.each(func(p *pair) {
		switch {
		case p.current != nil:
			p.current.decide()
			p.charge("crash", now)
			p.crashed, p.due, p.exact = true, time.Time{}, false
			m.interrupted++
		case p.state == pairDone && p.isPlain && !p.isFinal && now.Sub(p.doneAt) <= writeDelay:
			p.forgot = true
		}
		p.killed = true
	})
	m.vanish()
}

// vanish ends the handlers of all attachments there were.
func (m *model) vanish() {
	for _, s := range m.subscriptions {
		for _, at := range s.attachments {
			close(at.gone)
		}
		s.attachments = nil
	}
}

// end lets a failed round end at once.
func (m *model) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.vanish()
}

// redrive gives a dead delivery a fresh count.
func (m *model) redrive(p *pair) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p.state, p.failures, p.crashed, p.redriven = pairOpen, 0, false, true
	p.due, p.exact = time.Time{}, false
}

// purge forgets a dead delivery.
func (m *model) purge(p *pair) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p.state, p.attempts = pairPurged, nil
}

// heal makes handlers succeed from now on.
func (m *model) heal() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.healthy = true
}

// final notes that somebody was told that deliveries are settled.
func (m *model) final(which func(p *pair) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.each(func(p *pair) {
		if which(p) {
			p.isFinal, p.forgot = true, false
		}
	})
}

// open returns the deliveries to the given names that are not settled.
func (m *model) open(names map[string]*attachment) (open []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.each(func(p *pair) {
		if p.state == pairOpen && !p.doomed() && names[p.sub.name] != nil {
			open = append(open, p.String())
		}
	})
	slices.Sort(open)
	return open
}

// pair returns a delivery by the id of its event.
func (m *model) pair(id uuid.UUID, name string) *pair {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range m.events {
		if e.id == id && e.pairs[name] != nil {
			return e.pairs[name]
		}
	}
	m.t.Fatalf("%s is dead for event %v, and it is not for it", name, id)
	return nil
}
