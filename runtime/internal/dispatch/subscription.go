package dispatch

import (
	"context"
	"errors"
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

// ErrShutdown is the cause with which the contexts of running handlers are
// cancelled when the bus stops waiting for them.
var ErrShutdown = errors.New("the bus is shutting down")

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

// holdFailing holds the keys of deliveries that failed in an earlier life. It
// runs before the first poll.
func (s *Subscription) holdFailing() error {
	return s.consumer.Failing(func(r engine.Record) {
		s.queue.hold(s.cfg.Key(&engine.Delivery{Record: r}), r.Seq)
	})
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

// fill polls when there is something to poll and room for it. After an error
// it returns a channel that says when to try again.
func (s *Subscription) fill() (pause <-chan time.Time) {
	select {
	case <-s.wake:
		s.more = true
	default:
	}
	polled, full, err := s.poll()
	for _, d := range polled {
		i := item{Delivery: d, priority: s.cfg.Settings(d.Type).Priority}
		if s.cfg.Key != nil {
			i.key = s.cfg.Key(d)
		}
		s.queue.push(i)
	}
	s.more = full
	if polled != nil {
		clear(polled)
		s.polled = polled[:0]
	}
	return s.pause(err)
}

// pause tells the log when reading begins to fail and when it works again, and
// says when to try again.
func (s *Subscription) pause(err error) <-chan time.Time {
	switch {
	case err == nil && s.failing:
		s.failing = false
		s.cfg.Logger.Info("events can be read again", "subscription_id", s.cfg.Name)
	case err != nil && !s.failing:
		s.failing = true
		s.cfg.Logger.Error("events cannot be read; trying again every second", "subscription_id", s.cfg.Name, "error", err)
	}
	if err != nil {
		return time.After(time.Second)
	}
	return nil
}

// strictRetries is how many retries are polled when the window is full of
// deliveries that wait for one of them.
const strictRetries = 16

// poll takes what there is room for. It reports full when there may be more.
func (s *Subscription) poll() (polled []*engine.Delivery, full bool, err error) {
	if s.cfg.Strict && !s.ready {
		if err := s.holdFailing(); err != nil {
			return nil, true, err
		}
		s.ready = true
	}
	room := window - s.queue.len()
	switch {
	case !s.more:
		return nil, false, nil
	case room >= window/2:
		polled, err = s.consumer.Poll(s.polled[:0], room)
		return polled, len(polled) == room, err
	case s.cfg.Strict:
		polled, err = s.consumer.PollRetries(s.polled[:0], strictRetries)
		return polled, true, err
	}
	return nil, true, nil
}

// Stop takes no more deliveries and waits for the running handlers. When ctx
// ends first, their contexts are cancelled with ErrShutdown, and those that do
// not return within grace are left behind. Deliveries that were not finished
// are given back without being charged. It returns ctx's error if it had to
// interrupt a handler.
func (s *Subscription) Stop(ctx context.Context, grace time.Duration) error {
	s.mu.Lock()
	if s.stopped.Swap(true) {
		s.mu.Unlock()
		return nil
	}
	close(s.stopping)
	s.mu.Unlock()

	finished := make(chan struct{})
	go func() {
		s.lanes.Wait()
		close(finished)
	}()
	err := s.await(ctx, finished, grace)
	s.cancel(ErrShutdown)
	s.mu.Lock()
	s.alarm.stop()
	s.mu.Unlock()
	for _, i := range s.queue.drain() {
		s.consumer.Settle(i.Delivery, engine.Verdict{Kind: engine.Release})
	}
	return err
}

func (s *Subscription) await(ctx context.Context, finished <-chan struct{}, grace time.Duration) error {
	select {
	case <-finished:
		return nil
	case <-ctx.Done():
	}
	s.cancel(ErrShutdown)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-finished:
	case <-timer.C:
		s.mu.Lock()
		left := make([]*Attempt, 0, len(s.running))
		for _, a := range s.running {
			if a != nil {
				left = append(left, a)
			}
		}
		s.mu.Unlock()
		for _, a := range left {
			a.giveBack()
		}
	}
	return ctx.Err()
}
