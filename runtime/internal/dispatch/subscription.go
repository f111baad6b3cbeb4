package dispatch

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/retry"
)

// window is how many deliveries a subscription holds in memory at most.
const window = 256

// Config is what a Subscription needs to know.
type Config struct {
	Owner       any // what Attempt.Owner returns: the bus
	Name        string
	Concurrency int // how many handlers run at once, at least 1

	// Handle runs the handler for one attempt. It may panic. An error that
	// is a *DecodeError says that the handler could not be called.
	Handle func(a *Attempt) error

	// Settings returns what applies to an event type.
	Settings func(eventType string) *Settings

	// Key returns the partition key of a delivery, or "" for none. Without it
	// deliveries have no order among each other but that of the log, which
	// concurrency and priorities can change.
	Key func(d *engine.Delivery) string

	// Strict holds back the later deliveries of a key while one waits for its
	// retry. It needs a Key that is never empty.
	Strict bool

	Logger *slog.Logger
	Count  Counter
}

// Settings steer the deliveries of one event type in one subscription.
type Settings struct {
	Retry    retry.Policy
	Timeout  time.Duration // of one attempt
	Priority Priority
}

// Counter is told what happens. Its methods must not block.
type Counter interface {
	Handled(eventType string)
	Failed(eventType string, retried bool)
	Dead(eventType string)
	Abandoned(delta int)
}

// DecodeError says that a payload does not fit the type it is handled as.
type DecodeError struct{ Err error }

// Error says what did not fit.
func (e *DecodeError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *DecodeError) Unwrap() error { return e.Err }

// Subscription runs the handler of one subscription.
type Subscription struct {
	cfg      Config
	consumer engine.Consumer
	queue    queue

	turn     chan struct{} // holds a token; whoever takes it may poll
	wake     chan struct{} // there may be something to poll
	stopping chan struct{}
	ready    bool // the queue knows what it has to hold; guarded by turn
	more     bool // the last poll left something; guarded by turn
	failing  bool // the last poll returned an error; guarded by turn
	polled   []*engine.Delivery

	base   context.Context // of all attempts
	cancel context.CancelCauseFunc
	lanes  sync.WaitGroup

	mu      sync.Mutex
	running []*Attempt // by worker; nil for an idle one
	free    []int      // workers that came back
	alarm   alarm
	stopped atomic.Bool
}

// Start begins to deliver.
func Start(consumer engine.Consumer, cfg Config) *Subscription {
	s := &Subscription{
		cfg: cfg, consumer: consumer,
		turn: make(chan struct{}, 1), wake: make(chan struct{}, 1), stopping: make(chan struct{}),
	}
	s.base, s.cancel = context.WithCancelCause(context.Background())
	s.alarm.ring = s.expire
	s.turn <- struct{}{}
	for range max(cfg.Concurrency, 1) {
		s.open()
	}
	consumer.Notify(s.signal)
	return s
}

// signal wakes the lane that waits for something to do.
func (s *Subscription) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// open starts a lane.
func (s *Subscription) open() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped.Load() {
		return
	}
	var worker int
	if n := len(s.free); n > 0 {
		worker, s.free = s.free[n-1], s.free[:n-1]
	} else {
		worker = len(s.running)
		s.running = append(s.running, nil)
	}
	s.lanes.Add(1)
	go s.lane(worker)
}

// lane handles one delivery after the other.
func (s *Subscription) lane(worker int) {
	for {
		i, ok := s.next(worker)
		if !ok {
			break
		}
		if !s.attempt(worker, i) {
			return // another lane has taken over
		}
	}
	s.consumer.Idle(worker)
	s.lanes.Done()
}

// next waits for a delivery that may run. It reports false when the
// subscription is stopping.
func (s *Subscription) next(worker int) (item, bool) {
	select {
	case <-s.turn: // nearly always there is no competition
	default:
		s.consumer.Idle(worker) // it may take as long as nothing happens
		select {
		case <-s.turn:
		case <-s.stopping:
			return item{}, false
		}
	}
	defer func() { s.turn <- struct{}{} }()
	for idle := false; ; {
		if s.stopped.Load() {
			return item{}, false
		}
		pause := s.fill()
		if i, ok := s.queue.pop(); ok {
			return i, true
		}
		if !idle {
			s.consumer.Idle(worker)
			idle = true
		}
		select {
		case <-s.wake:
			s.more = true
		case <-pause:
			s.more = true
		case <-s.stopping:
			return item{}, false
		}
	}
}
