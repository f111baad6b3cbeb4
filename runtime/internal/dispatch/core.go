package dispatch

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/busgen/busgen/runtime/internal/dispatch/queue"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// core is what all parts of a [Scheduler] share: what it was made with, the queue, whether it ends, and how to wake the
// worker that waits for something to do. Its fields are set once, or safe for concurrent use.
type core struct {
	cfg      Config
	consumer engine.Consumer
	queue    queue.Queue
	stalls   stallWatch
	wake     chan struct{} // has a token when there may be something to do
	rests    atomic.Bool   // the worker with the turn waits for something to do
	extra    atomic.Int32  // loans, guests and awaited events; while it is 0 none of them concerns a worker

	stopped  atomic.Bool
	stopping chan struct{}   // closed when stopped is set
	ended    chan struct{}   // closed when everything is given back
	base     context.Context // of all attempts
	cancel   context.CancelCauseFunc
}

func newCore(consumer engine.Consumer, cfg Config) *core {
	c := &core{
		cfg: cfg, consumer: consumer,
		wake: make(chan struct{}, 1), stopping: make(chan struct{}), ended: make(chan struct{}),
	}
	c.base, c.cancel = context.WithCancelCause(context.Background())
	c.stalls.init()
	return c
}

// signal wakes the worker that waits for something to do.
func (c *core) signal() {
	c.stalls.signals.Add(1)
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// heeds is for [engine.Source].
func (c *core) heeds() bool { return c.stopped.Load() || c.rests.Load() && len(c.wake) == 0 }

// loops returns until when a delivery waits, or the zero time if it may be tried now.
func (c *core) loops(i queue.Item) time.Time {
	until := c.cfg.CrashLoop.Until()
	if until.IsZero() {
		return until
	}
	policy, failures := c.cfg.Settings(i.Type).Retry, i.Failures+1
	if i.Crashed && policy.Exhausted(i.Failures) {
		return time.Time{} // it becomes a dead letter
	}
	if i.Suspect && !i.Crashed { // a crash in which it ran with others counts with the next one
		failures++
	}
	if !policy.Exhausted(failures) {
		return time.Time{}
	}
	return until
}

// hurry makes the delivery of the event at seq urgent, now or when it comes.
func (c *core) hurry(seq int64) {
	c.extra.Add(1)
	c.queue.Hurry(seq)
	c.signal()
}

// calm undoes hurry. What has begun runs on.
func (c *core) calm(seq int64) {
	c.queue.Calm(seq)
	c.extra.Add(-1)
	c.signal()
}

// mayRun tells whether there will be an attempt at a delivery, because nobody has
// discarded it, and the last one did not end with its process or was not the last that
// its policy allows.
func (c *core) mayRun(d *engine.Delivery) bool {
	if _, cancelled := c.consumer.Cancelled(d.Seq); cancelled {
		return false
	}
	return !d.Crashed || !c.cfg.Settings(d.Type).Retry.Exhausted(d.Failures)
}

// baton is held by one goroutine at a time. Unlike a mutex, others can wait for it and for channels at once; unlike
// a channel, it costs next to nothing to take while nobody else wants it.
//
// Whoever gives it back wakes one of those that wait. Somebody else may be quicker, and then wakes the next one.
type baton struct {
	held    atomic.Bool
	waiting atomic.Int32  // goroutines between join and leave
	free    chan struct{} // has a token when it is free, or was
}

func newBaton() baton { return baton{free: make(chan struct{}, 1)} }

// take takes the baton if it is free.
func (b *baton) take() bool { return b.held.CompareAndSwap(false, true) }

// give gives it back.
func (b *baton) give() {
	b.held.Store(false)
	if b.waiting.Load() > 0 { // one that joins after this finds it free
		select {
		case b.free <- struct{}{}:
		default:
		}
	}
}

// join begins to wait: from now on a token comes when the baton is free. After that take it, or wait for the
// next token.
func (b *baton) join() { b.waiting.Add(1) }

// leave ends the waiting.
func (b *baton) leave() { b.waiting.Add(-1) }

// CrashLoop keeps events from dying of a process that ends again and again for a reason of its
// own, while they happen to be handled: a port is in use, a setting is missing. If the last
// process has died young, a delivery for which another crash would be the last attempt waits
// until this one has lived for so long. A process that ends by itself does not get there. One
// that an event ends does, and then dies of the event.
//
// Everything else is delivered meanwhile: it has attempts left.
type CrashLoop struct {
	until atomic.Pointer[time.Time] // nil for no loop
}

// Begin says that the last process has died young, and until when this one is young.
func (c *CrashLoop) Begin(until time.Time) { c.until.Store(&until) }

// Until returns until when deliveries wait, or the zero time if none does. A log may keep times to the microsecond
// only: one that was put off may come back by that much too early, and must not be put off again.
func (c *CrashLoop) Until() time.Time {
	if c == nil {
		return time.Time{}
	}
	until := c.until.Load()
	if until == nil || !time.Now().Before(until.Add(-time.Microsecond)) {
		return time.Time{}
	}
	return *until
}
