package dispatch

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"

	"github.com/busgen/busgen/runtime/internal/dispatch/queue"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// An attempt is the context of its handler. Most handlers do not wait for it, so
// the real context, with its timer and its tree, is made for those who do.

var _ context.Context = (*Attempt)(nil)

type attemptKey struct{}

// FromContext returns the attempt whose handler was given ctx, or nil.
func FromContext(ctx context.Context) *Attempt {
	a, _ := ctx.Value(attemptKey{}).(*Attempt)
	return a
}

// Deadline implements [context.Context].
func (a *Attempt) Deadline() (deadline time.Time, ok bool) {
	deadline = a.deadline()
	return deadline, !deadline.IsZero()
}

// Done implements [context.Context].
func (a *Attempt) Done() <-chan struct{} { return a.context().Done() }

// Err implements [context.Context].
func (a *Attempt) Err() error { return a.context().Err() }

// Value implements [context.Context]. It is how [FromContext] finds the
// attempt, and how package context finds the real context in it.
func (a *Attempt) Value(key any) any {
	if key == (attemptKey{}) {
		return a
	}
	return a.context().Value(key)
}

// realContext is the real context of an attempt. It is guarded by the attempt's mu.
type realContext struct {
	ctx    context.Context // nil before someone asks for it, again after it was renewed
	cancel context.CancelFunc
	former func() // ends the contexts of before; nil if there are none
}

// context returns the real context.
func (a *Attempt) context() context.Context {
	a.mu.Lock()
	defer a.mu.Unlock()
	real := &a.extras().real
	if real.ctx == nil {
		if limit, _ := a.bounds(); limit == unlimited {
			real.ctx, real.cancel = context.WithCancel(a.interruptibleBase())
		} else {
			real.ctx, real.cancel = context.WithDeadlineCause(a.interruptibleBase(), a.deadline(), a.lateness())
		}
		if a.ended {
			a.endContext()
		}
	}
	return real.ctx
}

// release ends the context: its handler has returned, or is not called.
func (a *Attempt) release() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.end()
}

// end is release for who holds mu.
func (a *Attempt) end() {
	a.ended = true
	x := a.extra.Load()
	if x == nil {
		return
	}
	if x.real.cancel != nil {
		a.endContext()
	}
	if x.real.former != nil {
		x.real.former()
	}
}

// endContext ends the context that was made. The caller holds mu.
func (a *Attempt) endContext() {
	x := a.extra.Load()
	x.real.cancel()
	if i := x.interruption; i != nil && i.cut != nil {
		i.cut(nil)
	}
}

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
	delivery *engine.Delivery
	site     *site
	started  int64 // in nanoseconds since 1970
	limit    time.Duration
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
	s, d := h.site, h.delivery
	r := &run{Item: queue.Item{Delivery: d, Priority: s.cfg.Settings(d.Type).Priority}, site: s, settings: s.cfg.Settings(d.Type), tried: true}
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

// leaveHanded makes the attempt, which has succeeded, the worker's alone. It reports false if somebody else may know it: the
// handler has asked for something, or left something behind, or whoever looks for attempts that run may have found it.
// Nobody finds it any more.
func (a *Attempt) leaveHanded() bool {
	h, s := a.handed, a.run.site
	if h == nil || a.extra.Load() != nil || a.stash != nil || s.deadlines.looking.Load() > 0 {
		return false
	}
	h.delivery, h.site, h.started, h.limit = a.Delivery, s, a.started.UnixNano(), a.limit
	return h.state.CompareAndSwap(unasked, left)
}
