package dispatch

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// Handed is what a handler holds of its attempt: it is the context, and what the logger of the event is made with. A
// handler may keep it for as long as it likes, and ask it from any goroutine. So it is never used again.
//
// Most handlers never ask it for anything. Then the attempt behind it is nobody's but the worker's when the handler
// has returned, and its memory serves the next one ([Config].Reuse). Whoever asks first, a handler or the worker that
// wants to use the memory again, decides that once and for all.
type Handed struct {
	state   atomic.Uint32
	attempt *Attempt // is of other deliveries once the state is left

	// What is known of an attempt that was left.
	delivery  *engine.Delivery
	scheduler *Scheduler
	started   int64 // in nanoseconds since 1970
	limit     time.Duration
}

// The states of what was handed.
const (
	unasked uint32 = iota // nobody has asked for anything
	asked                 // somebody has: the attempt stays what it is
	left                  // nobody has while the handler ran, and the attempt is over
)

var _ context.Context = (*Handed)(nil)

// Handed returns what the handler of the attempt is given. It is called by the goroutine of the handler.
func (a *Attempt) Handed() *Handed {
	if a.handed == nil {
		a.handed = &Handed{attempt: a}
		a.handed.state.Store(asked)
	}
	return a.handed
}

// Attempt returns the attempt. It is over if its memory serves others: then it is one that knows no more than that.
func (h *Handed) Attempt() *Attempt {
	if h.state.Load() == asked || h.state.CompareAndSwap(unasked, asked) || h.state.Load() == asked { // another goroutine was first
		return h.attempt
	}
	s, d := h.scheduler, h.delivery
	r := &run{item: item{Delivery: d, priority: s.cfg.Settings(d.Type).Priority}, scheduler: s, settings: s.cfg.Settings(d.Type), tried: true}
	a := &r.initial
	a.Delivery, a.Number, a.first = d, numberOf(d), true
	a.run, a.handler, a.settings, a.handed = r, s.cfg.Handlers(d.Type)[0], r.settings, h
	a.started, a.limit = time.Unix(0, h.started), h.limit
	a.allow(cmp.Or(d.MaxAttempts, r.settings.Retry.MaxAttempts))
	a.warned, a.ended, a.over, a.entered, a.returned, a.counted = true, true, true, true, true, true
	return a
}

// Deadline implements [context.Context].
func (h *Handed) Deadline() (deadline time.Time, ok bool) { return h.Attempt().Deadline() }

// Done implements [context.Context].
func (h *Handed) Done() <-chan struct{} { return h.Attempt().Done() }

// Err implements [context.Context].
func (h *Handed) Err() error { return h.Attempt().Err() }

// Value implements [context.Context].
func (h *Handed) Value(key any) any { return h.Attempt().Value(key) }

// hand returns memory for what the next handler is given. It is allocated for several at once when there are several
// to come. The caller has the turn.
func (s *Scheduler) hand() *Handed {
	if len(s.handed) == 0 {
		s.handed = make([]Handed, min(1+s.queue.len(), handedAtOnce))
	}
	h := &s.handed[0]
	s.handed = s.handed[1:]
	return h
}

// handedAtOnce is how many fit into 1 KiB, which is what the memory of more would be rounded up to. A handler that
// keeps one keeps the deliveries of all of them.
const handedAtOnce = 21

// leaveHanded makes the attempt, which has succeeded, the worker's alone. It reports false if somebody else may know it: the
// handler has asked for something, or left something behind, or whoever looks for attempts that run may have found it.
// Nobody finds it any more.
func (a *Attempt) leaveHanded() bool {
	h, s := a.handed, a.run.scheduler
	if h == nil || a.extra.Load() != nil || a.stash != nil || s.looking.Load() > 0 {
		return false
	}
	h.delivery, h.scheduler, h.started, h.limit = a.Delivery, s, a.started.UnixNano(), a.limit
	return h.state.CompareAndSwap(unasked, left)
}

// lookAtRunning is called before the attempts that run are looked for, and what it returns when they are not needed any
// more: until then their memory is not used again.
func (s *Scheduler) lookAtRunning() (done func()) {
	s.looking.Add(1)
	return func() { s.looking.Add(-1) }
}
