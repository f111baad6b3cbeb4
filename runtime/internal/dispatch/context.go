package dispatch

import (
	"context"
	"time"
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
