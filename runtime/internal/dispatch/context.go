package dispatch

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

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

// An attempt can be interrupted, because nobody needs what its handler does any more: its
// context ends with a cause, and if the handler fails after that, the delivery is
// discarded. A handler that succeeds all the same has handled the event.

// interruption is what an attempt has for that. It is guarded by the attempt's mu.
type interruption struct {
	cause     error                   // nil until the attempt is interrupted
	lost      string                  // the reason of the discard, if only this handler is not needed any more
	cut       context.CancelCauseFunc // ends the context with a cause; nil if that was not made for it
	children  []Child                 // that the handler has stored before its attempt ended
	abandoned error                   // why nobody needs them; nil if somebody may
}

// Child is an event that a handler has stored before its attempt ended.
type Child struct {
	Seq int64
	ID  uuid.UUID
}

// Lose interrupts an attempt whose answer is not needed any more. If its handler fails
// after that, in whatever way, the delivery is discarded for this reason, and in a group
// the next member has its turn. It reports false if the attempt is over, or was interrupted
// before. Call it without locks that are taken to settle a delivery.
func (a *Attempt) Lose(cause error, reason string) bool { return a.interruptFor(cause, reason) }

// interruptFor ends the context of the attempt. It reports false if the attempt is over,
// or was interrupted before.
func (a *Attempt) interruptFor(cause error, lost string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over || a.interrupted() != nil {
		return false
	}
	i := a.interruptible()
	i.cause, i.lost = cause, lost
	switch {
	case i.cut != nil:
		i.cut(cause)
	case a.extras().real.cancel != nil:
		a.extras().real.cancel()
	}
	return true
}

// Stored notes events that the handler has stored before its attempt ends, for
// [Attempt.Abandon]. If they are abandoned already it returns why.
func (a *Attempt) Stored(children ...Child) (abandoned error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := a.interruptible()
	i.children = append(i.children, children...)
	return i.abandoned
}

// Abandon takes the events that the handler has stored, which nobody needs any more for
// the given cause. [Attempt.Stored] returns it from now on.
func (a *Attempt) Abandon(cause error) (children []Child) {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := a.interruptible()
	children, i.children, i.abandoned = i.children, nil, cause
	return children
}

// interrupted returns why the attempt was interrupted, or nil. The caller holds mu.
func (a *Attempt) interrupted() error {
	if x := a.extra.Load(); x != nil && x.interruption != nil {
		return x.interruption.cause
	}
	return nil
}

// interruptible returns the interruption of the attempt, made if need be. The caller holds
// mu.
func (a *Attempt) interruptible() *interruption {
	x := a.extras()
	if x.interruption == nil {
		x.interruption = &interruption{}
	}
	return x.interruption
}

// interruptibleBase returns the parent of the attempt's context. The caller holds mu.
func (a *Attempt) interruptibleBase() context.Context {
	s := a.run.site
	if a.interrupted() == nil && (s.cfg.Interrupts == nil || !s.cfg.Interrupts.Load()) {
		return s.base
	}
	i := a.interruptible()
	parent, cut := context.WithCancelCause(s.base)
	if i.cut = cut; i.cause != nil {
		cut(i.cause)
	}
	return parent
}
