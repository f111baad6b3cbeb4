package dispatch

import (
	"cmp"
	"context"
	"fmt"
	"time"
)

// The transaction of a handler waits for its turn: for others that write, and for locks of other
// processes. That says nothing about the handler. So no deadline ends the attempt meanwhile, and with
// its turn the handler, or what it has left to be done, has the whole timeout.

// turn is what replaces the limit of an attempt whose transaction waits, or has its turn.
type turn struct {
	limit   time.Duration // from the start of the attempt
	expires bool
	begun   time.Duration // when it had its turn, from the start of the attempt; unlimited while it waits
}

// bounds returns how long the attempt may take, and whether that is because its event expires then.
func (a *Attempt) bounds() (limit time.Duration, expires bool) {
	if t := a.waited(); t != nil {
		return t.limit, t.expires
	}
	return a.limit, a.expires
}

// working returns since when the handler, or what it has left, is at work; the zero time while it waits.
func (a *Attempt) working() time.Time {
	switch t := a.waited(); {
	case t == nil:
		return a.started
	case t.begun == unlimited:
		return time.Time{}
	default:
		return a.started.Add(t.begun)
	}
}

// Queue says that the transaction of the attempt begins to wait for its turn, and returns the
// context for that: it ends with the bus. The error says that the attempt is over.
func (a *Attempt) Queue() (context.Context, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over || a.late(time.Now()) {
		return nil, ErrOver
	}
	a.extras().turn.Store(&turn{limit: unlimited, begun: unlimited})
	return a.run.site.base, nil
}

// Turn says that the transaction has its turn; the context of the attempt ends after its timeout
// from now, or with its event. handled says that the handler has returned, and only what it has
// left is still to be done. The error says that nothing is to be done any more.
func (a *Attempt) Turn(handled bool) error {
	if err := a.takeTurn(time.Now(), handled); err != nil {
		return err
	}
	a.run.site.deadlines.setAlarm(a)
	return nil
}

func (a *Attempt) takeTurn(now time.Time, handled bool) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	waited := now.Sub(a.started)
	t := &turn{limit: unlimited, begun: waited}
	if timeout := cmp.Or(a.settings.Timeout, unlimited); timeout < unlimited-waited {
		t.limit = waited + timeout
	}
	if after := a.run.settings.ExpiresAfter; after > 0 && !handled {
		if left := min(after, after-a.started.Sub(a.Since)); left < t.limit {
			t.limit, t.expires = left, true
		}
	}
	a.extras().turn.Store(t)
	a.renew()
	switch {
	case a.over || a.late(now):
		return ErrOver
	case a.interrupted() != nil:
		return fmt.Errorf("%w: %w", context.Canceled, a.interrupted())
	}
	return nil
}

// renew makes the attempt forget its context, which ended too early. What the handler has made of
// it stays as it is until the attempt ends. The caller holds mu.
func (a *Attempt) renew() {
	x := a.extras()
	real := &x.real
	if real.cancel == nil {
		return
	}
	before, cancel := real.former, real.cancel
	var cut context.CancelCauseFunc
	if x.interruption != nil {
		cut, x.interruption.cut = x.interruption.cut, nil
	}
	real.ctx, real.cancel = nil, nil
	real.former = func() {
		if before != nil {
			before()
		}
		cancel()
		if cut != nil {
			cut(nil)
		}
	}
}
