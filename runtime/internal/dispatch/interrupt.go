package dispatch

import (
	"context"

	"github.com/google/uuid"
)

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
