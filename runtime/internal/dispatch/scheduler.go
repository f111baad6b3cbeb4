package dispatch

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/goroutine"
	"github.com/busgen/busgen/runtime/internal/limit"
	"github.com/busgen/busgen/runtime/retry"
)

// Window is how many deliveries a subscription holds in memory at most. Tests make it small
// before they make schedulers.
var Window = 256

// Config configures a Scheduler.
type Config struct {
	Owner       any // what Attempt.Owner returns: the bus
	Name        string
	Concurrency int // how many handlers run at once, at least 1

	// Handlers returns what a delivery of an event type goes through: the one
	// handler or, in a group, the members that are for the type, in order.
	Handlers func(eventType string) []*Handler
	Group    bool

	// Settings returns what applies to the deliveries of an event type at this
	// moment.
	Settings func(eventType string) *Settings

	// Batch returns how many deliveries a batch has at most, and how long it waits for
	// them from the first one on. Nil for a subscription without batches. It is none for
	// a group. Then the one handler has HandleBatch.
	Batch func() (size int, wait time.Duration)

	// Breaker stops the subscription while it is open. A group has none; its
	// members have.
	Breaker        *breaker.Breaker
	BreakerChanged func(old, now breaker.Status)

	// Key returns the partition key of a delivery, or "" for none. Without it
	// deliveries have no order among each other but that of the log, which
	// concurrency and priorities can change. It runs code of the program and may
	// do anything. With an error the attempt at the delivery fails.
	Key func(d *engine.Delivery) (string, error)

	// LateKeys says that no delivery overtakes another, except deliveries whose publisher has
	// given them a priority of their own. Keys are computed from the first of these on.
	LateKeys bool

	// Keyless is the key of deliveries whose own cannot be computed.
	Keyless string

	// Strict holds back the later deliveries of a key while one waits for its
	// retry. It needs a Key, and a Keyless, that is never empty.
	Strict bool

	// Shown returns a text about a delivery, such as an error, as logs may show it. Nil shows
	// it as it is.
	Shown func(d *engine.Delivery, text string) string

	// Notice returns the dead-letter notice to append when a delivery is dead-lettered.
	Notice func(d *engine.Delivery, v engine.Disposition) []engine.Record

	// Settled is called with every disposition of a delivery, by the id of its event, after the engine
	// has it. It must not block, nor call the Scheduler. It is nil if nobody needs to know.
	Settled func(event uuid.UUID, v engine.Disposition)

	// Ephemeral says that the log does not know these deliveries. So nobody waits for
	// them, and one that would become a dead letter is dropped.
	Ephemeral bool

	// Limits are shared by the subscriptions of a bus, too. LimitKey returns the key of a
	// delivery for a limit, by the path of a field. It runs code of the program, as Key does.
	// Nil for none.
	Limits   *limit.Set
	LimitKey func(d *engine.Delivery, by string) (string, error)

	// Alone and Waits are shared by the subscriptions of a bus.
	Alone *Alone
	Waits *Waits

	// CrashLoop is shared, too. Nil for deliveries that no crash counts for.
	CrashLoop *CrashLoop

	// Interrupts is shared, too. While it is true, attempts keep what [Scheduler.Interrupt]
	// and [Attempt.Abandon] need. Nil for never.
	Interrupts *atomic.Bool

	// Reuse says that nobody keeps an attempt whose handler has succeeded, but by what the handler is given. It is not
	// for groups and batches, nor with limits.
	Reuse bool

	Logger *slog.Logger
}

// Handler handles the deliveries of a subscription, or of one member of a group.
type Handler struct {
	Name    string   // of the member; outside of groups that of the subscription
	Aliases []string // names that the member had before

	// Handle runs the handler for one attempt. It may panic. An error that
	// is a *DecodeError says that the handler could not be called.
	Handle func(a *Attempt) error

	// Watch is called before Handle and before Started, and once for a batch, with the attempt
	// that stands for it, unless it is nil. It must not block.
	Watch func(a *Attempt)

	// Started is called before Handle, unless it is nil. It must not block.
	Started func(a *Attempt)

	// Observed says that code of the program may be called when an attempt has ended.
	Observed bool

	// Commits says that Handle does what is left for [Attempt.Commit].
	Commits bool

	// HandleBatch runs the handler for a batch, in place of Handle. In all else it is
	// Handle. A *[BatchError] says which attempts have failed.
	HandleBatch func(b *Batch) error

	// BatchEnded counts a batch that is over, and returns what tells observers, as the methods of a Counter do. Nil if
	// nobody needs to know.
	BatchEnded func(e BatchEnd) (tell func())

	// Settings returns what applies to an attempt: the timeouts.
	Settings func(eventType string) *Settings

	// Breaker passes the member of a group over while it is open.
	Breaker *breaker.Breaker

	Count Counter
}

// Settings steer the deliveries of one event type in one subscription. They are
// never changed, only replaced.
type Settings struct {
	Retry           retry.Policy
	Timeout         time.Duration // of one attempt; 0 for none
	SlowAfter       time.Duration // 0 for never
	SlowEventAfter  time.Duration // 0 for never
	ExpiresAfter    time.Duration // 0 for never
	Version         int           // the newest that the handlers can read; 0 for any
	HoldUnknown     time.Duration // how long a newer one is held at most; 0 for not at all
	MaxSnoozes      int           // 0 for no limit
	FailureThrottle int           // 0 for never
	Priority        Priority
	Errors          []ErrorRule
	Limits          []LimitUse
}

// ErrorRule says what errors that match mean.
type ErrorRule struct {
	Match     func(error) bool
	Permanent bool
	Retry     retry.Policy
}

// Counter counts what happens to deliveries. Its methods neither block nor run code of the program, but for
// TellHandled. What runs such code, to tell observers, they return; nil if there is nobody to tell.
type Counter interface {
	// Succeeded counts an attempt, and Handled says what has come of it. Succeeded may be called
	// by the engine. TellHandled is called after Handled if the [Handler] is Observed.
	Succeeded(a *Attempt, ended time.Time)
	Handled(a *Attempt, staged []engine.Record)
	TellHandled(a *Attempt, ended time.Time, staged []engine.Record)              // runs code of the program
	Failed(a *Attempt, failure *event.FailedAttempt, due time.Time) (tell func()) // due is zero when there is no further attempt
	Dead(a *Attempt, reason string, last *event.FailedAttempt) (tell func())      // last has no Kind if nothing new was tried
	Discarded(a *Attempt, reason string, ended time.Time) (tell func())
	Snoozed(a *Attempt, until, ended time.Time) (tell func())
	Slow(a *Attempt, running time.Duration) (tell func())
	SlowEvent(a *Attempt, age, running time.Duration) (tell func()) // its event has become slow while it runs
	Abandoned(a *Attempt, delta int)
}

// DecodeError says that the handler could not be called, because the payload does
// not fit the type it is handled as, or because code of the program that was called
// before the handler has panicked.
type DecodeError struct {
	Err   error
	Stack string // of a panic
}

// Error says what did not fit.
func (e *DecodeError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *DecodeError) Unwrap() error { return e.Err }

// Scheduler runs the handlers of one subscription.
type Scheduler struct {
	cfg      Config
	consumer engine.Consumer
	queue    queue
	gate     gate
	loans    loans
	looking  atomic.Int32 // how many look at the attempts that run
	extra    atomic.Int32 // loans, guests and awaited events; while it is 0 none of them concerns a worker

	turn     baton         // whoever has it may poll
	claim    chan struct{} // a worker takes the turn over from a guest that waits with it
	wake     chan struct{} // there may be something to poll
	stopping chan struct{} // closed by the first Stop
	finished chan struct{} // closed when no worker is left after that
	ended    chan struct{} // closed when everything is given back
	end      sync.Once
	ready    bool      // the queue knows what it has to hold; guarded by turn
	window   int       // how many deliveries it holds in memory at most
	more     bool      // there may be more to poll, and nobody wakes the worker for that; guarded by turn
	failing  bool      // the last poll returned an error; guarded by turn
	again    time.Time // when to poll after that; guarded by turn
	moves    int       // how many polls in a row have returned ErrMoved; guarded by turn
	polled   []*engine.Delivery
	items    []item   // memory of enqueue; guarded by turn
	later    []item   // polled, and waiting for their keys until no suspect runs, or they may run alone; guarded by turn
	asks     bool     // the first of them, or of holdFailing, is a suspect; guarded by turn
	keyed    bool     // what is in the queue has its keys; guarded by turn
	held     int64    // up to here the queue knows; guarded by turn
	blocked  blocked  // guarded by turn
	runs     []run    // not yet used; guarded by turn
	handed   []Handed // likewise

	gathering gathering
	limits    limits
	stalls    stallWatch

	unanswered atomic.Int32 // functions that match errors and that ruleInTime has asked

	base    context.Context // of all attempts
	cancel  context.CancelCauseFunc
	workers sync.WaitGroup

	mu      sync.Mutex
	running []*slot           // by worker, with batches by number of the attempt
	batches []*Batch          // that run
	slots   []int             // of running, that no batch has
	slotted int               // how many slots there are
	on      []uint64          // by worker: its goroutine
	guests  []<-chan struct{} // by worker: closed when the loan of the guest ends; nil for those that are none
	free    []int             // workers that came back
	alarm   alarm
	stopped atomic.Bool
	rests   atomic.Bool // the worker with the turn waits for something to do
}

// New returns a scheduler that does not deliver yet.
func New(consumer engine.Consumer, cfg Config) *Scheduler {
	s := &Scheduler{
		cfg: cfg, consumer: consumer, window: Window,
		turn: newBaton(), claim: make(chan struct{}), wake: make(chan struct{}, 1),
		stopping: make(chan struct{}), finished: make(chan struct{}), ended: make(chan struct{}),
	}
	s.base, s.cancel = context.WithCancelCause(context.Background())
	s.alarm.began, s.alarm.ring = time.Now(), s.expire
	s.alarm.unset()
	s.stalls.init()
	if cfg.Limits != nil {
		s.limits.owner = cfg.Limits.NewOwner(s.signal)
	}
	if cfg.Breaker != nil {
		cfg.Breaker.Notify(func(old, now breaker.Status) {
			s.signal()
			cfg.BreakerChanged(old, now)
		})
	}
	return s
}

// Start begins to deliver.
func (s *Scheduler) Start() {
	s.cfg.Alone.join(s)
	if !s.cfg.Ephemeral {
		s.cfg.Waits.join(s)
	}
	for range max(s.cfg.Concurrency, 1) {
		s.open(nil)
	}
	s.consumer.Notify(s.signal, s.heeds)
}

// heeds is for [engine.Source].
func (s *Scheduler) heeds() bool { return s.stopped.Load() || s.rests.Load() && len(s.wake) == 0 }

// signal wakes the worker that waits for something to do.
func (s *Scheduler) signal() {
	s.stalls.signals.Add(1)
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// open starts a worker, or the guest of a loan that goes on until the channel is closed.
func (s *Scheduler) open(loan <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped.Load() || isClosed(loan) {
		return
	}
	var number int
	if n := len(s.free); n > 0 {
		number, s.free = s.free[n-1], s.free[:n-1]
	} else {
		number = len(s.on)
		if number == len(s.running) { // else it has a slot of this number
			s.running = append(s.running, new(slot))
		}
		s.on = append(s.on, 0)
		s.guests = append(s.guests, nil)
	}
	if s.guests[number] = loan; loan != nil {
		s.extra.Add(1)
	}
	s.workers.Add(1)
	go s.work(&worker{number: number, slot: s.running[number], loan: loan})
}

// isClosed tells whether a channel that nothing is sent to is closed.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// work handles one delivery after the other.
func (s *Scheduler) work(w *worker) {
	s.runsOn(w.number, goroutine.Number())
	if s.cfg.Batch != nil && !s.workBatches(w.number) {
		return // another worker has taken over
	}
	for s.cfg.Batch == nil {
		r, ok := s.next(w)
		if !ok {
			break
		}
		if r == nil {
			continue // a guest that has given its turn away
		}
		if !s.run(w, r) {
			return // another worker has taken over
		}
		s.leaveGate(r)
		w.keep(r)
	}
	if s.cfg.Alone.closed.Load() {
		s.cfg.Alone.pass(s) // nothing comes after this
	}
	if w.loan != nil {
		s.mu.Lock()
		s.on[w.number] = 0
		s.free = append(s.free, w.number)
		s.mu.Unlock()
	}
	s.retire(w.loan)
}

// next waits for a delivery that may run. It reports false when the
// subscription is stopping, or the loan of a guest has ended. A guest gets no run when a
// worker wants its turn.
func (s *Scheduler) next(w *worker) (r *run, ok bool) {
	if !s.turn.take() && !s.awaitTurn(w) { // nearly always there is no competition
		return nil, false
	}
	claimed := false
	defer func() {
		if !claimed {
			s.unlisten()
			s.turn.give()
			s.freePaused()
		}
	}()
	guest, looked := w.loan != nil, false
	var claims <-chan struct{}
	if guest {
		claims = s.claim
	}
	for {
		if s.stopped.Load() || isClosed(w.loan) {
			return nil, false
		}
		extra := s.extra.Load() > 0
		if s.limits.listens { // whose turn it is takes it at once
			if r, _, ok = s.take(w, extra); ok {
				s.unlisten()
				s.began(looked)
				return r, true
			}
			s.unlisten()
		}
		pause, polled := s.fill(extra)
		if polled || extra || s.cfg.Limits != nil {
			w.ended = time.Time{}
		}
		if s.stopped.Load() { // keys may be missing
			return nil, false
		}
		r, reopens, ok := s.take(w, extra)
		if ok {
			s.began(looked)
			return r, true
		}
		w.ended = time.Time{}
		s.listen()
		if reopens == nil && s.pollsOn() {
			continue
		}
		s.stalls.wait(looked)
		looked = false
		s.rests.Store(true)
		select {
		case <-s.wake:
			s.woken()
		case <-pause:
			s.more = true
		case <-reopens:
		case <-s.stalls.looks:
			looked = s.lookAgain(pause, reopens)
		case <-claims: // whoever has sent it has the turn, and leaves the line
			claimed = true
			s.rests.Store(false)
			return nil, true
		case <-w.loan:
			s.rests.Store(false)
			return nil, false
		case <-s.stopping:
			return nil, false
		}
		s.rests.Store(false)
	}
}

// awaitTurn waits for the turn. It reports false when the subscription is stopping, or the loan of a guest has
// ended.
func (s *Scheduler) awaitTurn(w *worker) bool {
	w.ended = time.Time{}
	claim := s.claim
	if w.loan != nil {
		claim = nil
	}
	s.turn.join()
	defer s.turn.leave()
	for !s.turn.take() {
		select {
		case <-s.turn.free:
		case claim <- struct{}{}: // a guest had it
			return true
		case <-w.loan:
			return false
		case <-s.stopping:
			return false
		}
	}
	return true
}
