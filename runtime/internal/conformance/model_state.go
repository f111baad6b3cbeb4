package conformance

import (
	"fmt"
	"hash"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// model knows what a bus has to do. The test calls it when an execution begins and
// when it ends. The model works out what the disposition must be, and fails the test
// when an execution must not happen.
type model struct {
	t             *testing.T
	env           *Env
	seed          uint64
	began         time.Time
	digest        hash.Hash64 // of what happens, and has before this instant
	instant       time.Time   // when this has happened:
	happened      []string
	priorities    bool                 // some events have one of their own
	subscriptions []*modelSubscription // in the order in which they may be made

	mu          sync.Mutex
	made        []*modelSubscription // in the order in which they were made
	events      map[uint64]*modelEvent
	healthy     bool            // handlers succeed
	serial      time.Time       // when a suspect was last about to run, ran or was cleared
	interrupted int             // deliveries that the next start has to find interrupted
	fewer, more int             // or so many fewer or more, because claims are stored late
	begins      []time.Time     // of handlers, the last ones
	paused      map[string]bool // by name of the subscription
	pausedTypes map[string]bool // by pattern
	resumed     time.Time       // when a pause last ended
	young       time.Time       // until when a kill of this process begins a crash loop, or goes on with it
	loops       bool            // the next process finds a crash loop; while this one is young, that it has found one
}

// modelEvent is an event that is stored, or is about to be.
type modelEvent struct {
	number   uint64 // in its payload; handlers know it by that
	id       uuid.UUID
	typ      string
	key      string // of its partition
	deduped  bool   // it was published with an idempotency key
	priority runtime.Priority
	due      time.Time        // zero unless it is delayed
	pairs    map[string]*pair // by subscription
}

type pairState int

const (
	pairOpen pairState = iota
	pairDone
	pairDead
	pairDiscarded
	pairPurged // was dead, and is forgotten
)

func (s pairState) String() string {
	return [...]string{"open", "done", "dead", "discarded", "purged"}[s]
}

// pair is a delivery: one event for one subscription.
type pair struct {
	event *modelEvent
	sub   *modelSubscription

	state    pairState
	reason   string    // why it is dead or discarded
	failures int       // attempts that count since it was new or retried by hand
	others   int       // executions that do not
	snoozes  int       // since it was new or retried by hand
	doubt    bool      // the snoozes may have been forgotten: its handler does not snooze
	together int       // of those, that ended with the process, since the last other end: one at most
	attempts []string  // kinds of the failed attempts on record
	runs     int       // executions
	ran      time.Time // when it was first executed; zero if never
	settled  time.Time // when it was first settled; zero if never
	current  *run      // the execution that has no disposition yet
	turn     *turn     // of it
	progress int       // of a group: so many members have handled it

	cancelled string    // somebody has cancelled or discarded it while its handler runs: the reason
	unseen    time.Time // until then the owner may not know of the discard by an operator
	unclaimed *pair     // its counts if the claim of its last execution was not stored when the process was killed
	before    *pair     // its counts before a discard was undone
	undone    time.Time // when the owner knows of that; it may begin with those counts until then
	wasDead   string    // of a discarded one: the reason of the dead letter that it was

	due     time.Time // no execution before
	waits   bool      // until due, for a retry
	exact   bool      // nothing has happened since due was set that may delay it
	doneAt  time.Time
	isFinal bool // somebody was told that it is settled
	isPlain bool // its success needs no row, so it may be written up to 5 ms late
	forgot  bool // done, and a kill may have lost that
	maybe   bool // its handler may see attempt 2: a kill happened since it was published, or it was settled and begins anew
	crashed bool // the last attempt that counts ended with the process
	suspect bool // the last execution did
	held    bool // its type was paused meanwhile, or it began anew: it may come after later ones
}

// doomed says that the last attempt ended with the process: it is dead as soon
// as it is looked at.
func (p *pair) doomed() bool {
	return p.state == pairOpen && p.crashed && p.failures >= p.sub.policy.MaxAttempts
}

// risks says that another crash makes it a dead letter: one that counts, with the one before
// that may count then, because others ran.
func (p *pair) risks() bool {
	failures := p.failures + 1
	if p.suspect && !p.crashed {
		failures++
	}
	return failures >= p.sub.policy.MaxAttempts
}

func (p *pair) String() string { return fmt.Sprintf("%d/%s", p.event.number, p.sub.name) }

func newModel(t *testing.T, env *Env, seed uint64, random *rand.Rand) *model {
	return &model{
		t: t, env: env, seed: seed, began: time.Now(), digest: newDigest(), priorities: random.IntN(3) == 0, subscriptions: drawSubscriptions(random), events: map[uint64]*modelEvent{},
		paused: map[string]bool{}, pausedTypes: map[string]bool{},
	}
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
		p := &pair{event: e, sub: s, due: e.due, exact: !e.due.IsZero()}
		m.noteHeld(p)
		e.pairs[s.name] = p
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

// each visits all deliveries, after time has given the dispositions it gives.
func (m *model) each(visit func(p *pair)) {
	now := time.Now()
	for _, e := range m.events {
		for _, p := range e.pairs {
			if p.current != nil {
				p.current.overdue(now)
			}
			p.lapse(now.Add(-1))
			visit(p)
		}
	}
}

// start begins a life.
func (m *model) start(now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.young = now.Add(engine.CrashLoopTime)
}

// loop returns until when deliveries wait because of a crash loop, or the zero time.
func (m *model) loop(now time.Time) time.Time {
	if !m.loops || !now.Before(m.young) {
		return time.Time{}
	}
	return m.young
}

// waitsUntil is loop for who does not hold mu.
func (m *model) waitsUntil() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.loop(time.Now())
}

// leaveLoop ends a life. What a crash loop has put off may stay so, though the next life has none.
func (m *model) leaveLoop(now time.Time) {
	if m.loop(now).IsZero() {
		return
	}
	m.each(func(p *pair) {
		if p.risks() && !p.due.After(now) {
			p.exact = false
		}
	})
}

// shutDown ends a life in order: what has no disposition was given back.
func (m *model) shutDown() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.leaveLoop(time.Now())
	m.loops = false
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

// kill ends the process that the bus is of: what ran is suspected, what is not
// written is lost.
func (m *model) kill(bus *runtime.Bus) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	m.each(func(*pair) {}) // dispositions that time has given
	ran := m.ran(bus)
	m.leaveLoop(now)
	m.loops = now.Before(m.young) && (m.loops || len(ran) > 0)
	m.each(func(p *pair) {
		if ran[p] {
			m.serial = now
		}
		switch {
		case p.current != nil:
			if m.mayBeUnclaimed(p.current, now) {
				before := *p
				p.unclaimed = &before
				m.fewer++
			}
			p.crash(len(ran) == 1, now)
			m.interrupted++
			if p.cancelled != "" && !p.doomed() {
				p.endCancelled(now)
			}
		case ran[p] && (p.state == pairOpen || p.state == pairDead): // left behind
			p.suspect = true
		case m.mayBeUnwritten(p, now):
			if p.forgot, p.progress = true, 0; m.env.Unclaimed > 0 {
				m.more++ // its claim is stored in the same way, and may still be there
			}
		}
		p.maybe = true
	})
	m.vanish()
}

// ran returns the deliveries whose handlers run, as far as the engine knows. The caller holds mu.
func (m *model) ran(bus *runtime.Bus) map[*pair]bool {
	ran := map[*pair]bool{}
	for _, s := range m.subscriptions {
		for _, at := range s.attachments {
			for r := range at.running {
				if at.bus == bus && !(m.env.ForgetsLeft && r.over && !at.cancelled.IsZero()) {
					ran[r.pair] = true
				}
			}
		}
	}
	return ran
}

// stepClock moves what waits for a time. What was due already may have been
// taken up and given back: then it no longer waits for one. Retries are due earlier
// when the bus notices that the clock was set back.
func (m *model) stepClock(step, back time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	m.each(func(p *pair) {
		if p.due.After(now) {
			p.due = p.due.Add(-step)
			if p.waits {
				p.due = p.due.Add(-back)
			}
		} else {
			p.exact = false
		}
	})
	for _, e := range m.events { // for subscriptions that are yet to come
		if e.due.After(now) {
			e.due = e.due.Add(-step)
		}
	}
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

// named returns the subscription of a name.
func (m *model) named(name string) *modelSubscription {
	for _, s := range m.subscriptions {
		if s.name == name {
			return s
		}
	}
	return nil
}

// since returns when something happened in this life.
func (m *model) since(at time.Time) time.Duration { return at.Sub(m.began) }
