package dispatch

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// Grace is how long a lane waits for a handler whose deadline has passed
// before it is written off.
const Grace = time.Second

// ErrOver is returned to a handler that publishes after its attempt was
// decided: it has timed out, or it has returned and left a goroutine behind.
var ErrOver = errors.New("this attempt is over: events published through its context are not stored")

// TimeoutError is the failure of an attempt that outlived its deadline, and
// the cause with which its context is cancelled.
type TimeoutError struct{ After time.Duration }

// Error says how long the handler had.
func (e *TimeoutError) Error() string {
	return fmt.Sprintf("the handler did not finish within %v", e.After)
}

// Is makes the error match [context.DeadlineExceeded].
func (e *TimeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// Attempt is one execution of a handler, and the context that the handler is
// given.
type Attempt struct {
	*engine.Delivery
	Number int // 1 for the first execution
	Max    int // how many executions there may be

	sub      *Subscription
	worker   int
	key      string
	settings *Settings
	started  time.Time
	deadline time.Time

	mu       sync.Mutex
	ctx      context.Context // made when someone asks for more than the deadline
	cancel   context.CancelFunc
	ended    bool // the context is over
	over     bool // there is a verdict; whoever sets it makes it
	returned bool // the handler is back
	left     bool // the lane did not wait for it
	staged   []engine.Record
}

// Owner returns the bus whose handler this is.
func (a *Attempt) Owner() any { return a.sub.cfg.Owner }

// Stage keeps events to be appended in the transaction that records the
// success of the attempt.
func (a *Attempt) Stage(records []engine.Record) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over || !time.Now().Before(a.deadline) {
		return ErrOver
	}
	a.staged = append(a.staged, records...)
	return nil
}

// attempt runs the handler once. It reports false when the lane was written
// off meanwhile, or when the handler has ended the lane's goroutine.
func (s *Subscription) attempt(worker int, i item) (keep bool) {
	settings := s.cfg.Settings(i.Type)
	a := &Attempt{
		Delivery: i.Delivery, Number: i.Failures + 1, Max: settings.Retry.MaxAttempts,
		sub: s, worker: worker, key: i.key, settings: settings, started: time.Now(),
	}
	if a.Redelivered {
		a.Number++
	}
	if a.Crashed && settings.Retry.Exhausted(a.Failures) {
		a.over = true
		a.bury(engine.ReasonCrash, nil)
		return true
	}

	a.deadline = a.started.Add(settings.Timeout)
	defer a.release()
	s.consumer.Begin(i.Delivery, worker, a.started)
	s.watch(a)

	returned := false
	var err error
	defer func() {
		kind, stack := engine.KindError, ""
		exit := false
		switch cause := recover(); {
		case cause != nil:
			kind, stack = engine.KindPanic, string(debug.Stack())
			err = fmt.Errorf("panic: %v", cause)
		case !returned:
			// Neither returned nor panicking: the handler has called Goexit,
			// and this goroutine is on its way out.
			kind, stack = engine.KindExit, string(debug.Stack())
			err = errors.New("the handler ended its goroutine (runtime.Goexit)")
			exit = true
		}
		keep = a.finish(err, kind, stack)
		if exit && keep {
			s.mu.Lock()
			s.free = append(s.free, worker)
			s.mu.Unlock()
			s.open()
			s.lanes.Done()
		}
	}()
	err = s.cfg.Handle(a)
	returned = true
	return true
}

// finish takes what the handler did. It reports false when the lane was
// written off.
func (a *Attempt) finish(err error, kind, stack string) (keep bool) {
	s := a.sub
	f := failure{err: err, kind: kind, stack: stack}
	if err != nil {
		f.text = textOf(err) // the handler's code; not while mu is held
	}
	a.mu.Lock()
	late, left := a.over, a.left
	a.over, a.returned = true, true
	if !late {
		a.judge(f)
	}
	a.mu.Unlock()
	s.unwatch(a, left)
	if late {
		s.cfg.Logger.Debug("a handler returned after its attempt was over", "event_id", a.ID, "event_type", a.Type,
			"subscription_id", s.cfg.Name, "attempt", a.Number, "error", err)
	}
	if left {
		s.cfg.Count.Abandoned(-1)
	}
	return !left
}

// judge gives the verdict on what the handler did. The caller holds mu, as for
// every verdict: whoever finds the attempt over can rely on the engine having
// it, so that a shutdown does not close the log before.
func (a *Attempt) judge(f failure) {
	s := a.sub
	switch {
	case s.base.Err() == nil && !time.Now().Before(a.deadline):
		// It came back before expire had its turn, and too late all the same.
		a.fail(a.timeout())
	case f.err == nil:
		a.settle(engine.Verdict{Kind: engine.Done, Staged: a.staged})
		s.cfg.Count.Handled(a.Type)
	case s.base.Err() != nil: // the shutdown has interrupted it
		a.settle(engine.Verdict{Kind: engine.Release})
	default:
		a.fail(f)
	}
}

// expire ends an attempt whose deadline has passed.
func (a *Attempt) expire() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over {
		return
	}
	a.over = true
	a.fail(a.timeout())
	time.AfterFunc(Grace, a.leave)
}

// leave writes the lane off if the handler still has not returned.
func (a *Attempt) leave() {
	s := a.sub
	a.mu.Lock()
	left := !a.returned
	a.left = left
	a.mu.Unlock()
	if !left {
		return
	}
	s.cfg.Logger.Warn("a handler ignores its context; it is left behind", "event_id", a.ID, "event_type", a.Type,
		"subscription_id", s.cfg.Name, "attempt", a.Number)
	s.cfg.Count.Abandoned(1)
	s.open()
	s.lanes.Done()
}

// giveBack settles an attempt that the shutdown does not wait for.
func (a *Attempt) giveBack() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.over {
		a.over = true
		a.settle(engine.Verdict{Kind: engine.Release})
	}
}

// settle hands the verdict to the engine and frees the partition key, unless a
// strict order holds it until the retry.
func (a *Attempt) settle(v engine.Verdict) {
	if v.Kind != engine.Done {
		// Once the verdict is written a claim would be taken for a crash.
		a.sub.consumer.Idle(a.worker)
	}
	strict := a.sub.cfg.Strict && v.Kind == engine.Retry
	if strict {
		a.sub.queue.hold(a.key, a.Seq)
	}
	a.sub.consumer.Settle(a.Delivery, v)
	if strict {
		return
	}
	if a.sub.queue.done(a.key) {
		a.sub.signal()
	}
}
