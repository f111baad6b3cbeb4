package limit

import (
	"context"
	"slices"
)

// The attempts and the calls of the model.

// modelAttempt is an attempt that goes on.
type modelAttempt struct {
	o       *modelOwner
	grant   *Grant
	places  []*modelPlace // of its grant
	lends   bool
	guest   bool
	keyUsed bool // it cannot come back
}

func anyAttempt(*modelAttempt) bool { return true }
func waits(a *modelAttempt) bool    { return a.lends }

// one returns an attempt of those; one that is nothing for none.
func (m *model) one(s step, is func(*modelAttempt) bool) *modelAttempt {
	of := slices.DeleteFunc(slices.Clone(m.owner(s).attempts), func(a *modelAttempt) bool { return !is(a) })
	if len(of) == 0 {
		return nil
	}
	return of[s.At%len(of)]
}

// end is the end of an attempt. What it has lent comes back by force before.
func (a *modelAttempt) end() {
	if a == nil {
		return
	}
	o := a.o
	if a.lends {
		a.force()
	}
	before := o.worker()
	o.attempts = slices.DeleteFunc(o.attempts, func(other *modelAttempt) bool { return other == a })
	for _, p := range a.places {
		p.own = false
	}
	o.m.free()
	a.grant.Release()
	// A worker comes, or takes the turn over from a guest; else only a signal wakes the one in line.
	if !o.listening || !before || o.count(waits) > 0 {
		o.signalled.Store(true)
	}
}

// wait lends all, also what was added while another goroutine of the handler has waited.
func (a *modelAttempt) wait() {
	if a == nil {
		return
	}
	a.lends = true
	a.o.asking = slices.DeleteFunc(a.o.asking, func(other *modelAttempt) bool { return other == a })
	for _, p := range a.places {
		p.lent, p.beside = true, nil
	}
	a.grant.Lend()
	a.o.signalled.Store(true)
}

func (a *modelAttempt) lent() (uses []Use) {
	for _, p := range a.places {
		if p.lent && (p.own || p.calls > 0) {
			uses = append(uses, p.use)
		}
	}
	return uses
}

func (a *modelAttempt) ask() {
	if a == nil || slices.Contains(a.o.asking, a) {
		return
	}
	a.o.asking = append(a.o.asking, a)
	a.o.signalled.Store(true)
}

func (a *modelAttempt) isBack() {
	for _, u := range a.lent() { // it has taken some while others were lent
		a.o.m.forced = a.o.m.forced || count(a.lent(), u) > u.AtOnce
	}
	a.lends = false
	a.o.asking = slices.DeleteFunc(a.o.asking, func(other *modelAttempt) bool { return other == a })
	for _, p := range a.places {
		p.lent, p.beside = false, nil
	}
}

func (a *modelAttempt) force() {
	if a == nil {
		return
	}
	a.grant.Force()
	a.isBack()
	a.o.m.forced = true
	a.o.signalled.Store(true)
}

func (a *modelAttempt) useKey() {
	if a == nil {
		return
	}
	a.keyUsed = !a.keyUsed
	if !a.keyUsed {
		a.o.signalled.Store(true)
	}
}

// modelCall is one of Limiter.Do.
type modelCall struct {
	m      *model
	use    Use
	of     *modelAttempt // nil for code outside of handlers
	since  int
	cancel func()
	result chan *Call
	call   *Call
	place  *modelPlace
}

func (c *modelCall) waits() bool { return c.call == nil }

func (m *model) call(of *modelAttempt, s step) {
	c := &modelCall{m: m, use: m.uses[s.Needs%len(m.uses)], of: of, result: make(chan *Call, 1), cancel: func() {}}
	m.calls = append(m.calls, c)
	grant := m.set.NewGrant()
	if of != nil {
		grant = of.grant
		at := slices.IndexFunc(of.places, func(p *modelPlace) bool { return p.use == c.use && p.own })
		call := grant.Join(c.use)
		if (call != nil) != (at >= 0) {
			m.wrong("a call joins its delivery: %v", call != nil)
		}
		if call != nil && at >= 0 {
			c.place = of.places[at]
			c.place.calls++
			if !c.place.lent {
				c.call = c.regained(call)
				return
			}
			c.wait(func(ctx context.Context) { call, _ := call.Regain(ctx); c.result <- call })
			return
		}
	}
	c.wait(func(ctx context.Context) {
		call, _ := m.set.Acquire(ctx, c.use, grant)
		c.result <- call
	})
}

// wait begins to wait for room.
func (c *modelCall) wait(how func(ctx context.Context)) {
	c.m.clock++
	c.since = c.m.clock
	var ctx context.Context
	ctx, c.cancel = context.WithCancel(context.Background())
	go how(ctx)
}

// regained is called when a call has joined a place that is not lent. Others may have taken it back.
func (c *modelCall) regained(call *Call) *Call {
	if c.place.beside != nil {
		c.place.beside[c] = true
	}
	if call, _ = call.Regain(context.Background()); call == nil {
		c.m.wrong("a call has not got its room")
	}
	return call
}

// gotRoom looks which calls have begun or were cancelled.
func (m *model) gotRoom() {
	for _, c := range slices.Clone(m.calls) {
		if !c.waits() {
			continue
		}
		select {
		case c.call = <-c.result:
		default:
			continue
		}
		if c.call == nil {
			m.calls = slices.DeleteFunc(m.calls, func(other *modelCall) bool { return other == c })
			if c.place != nil {
				c.place.calls--
				m.free()
			}
			continue
		}
		if p := c.place; p != nil {
			if p.lent {
				p.lent, p.beside = false, map[*modelCall]bool{}
				m.inOrder([]Use{c.use}, c.since, true)
			}
			if p.beside != nil {
				p.beside[c] = true
			}
			continue
		}
		c.place = m.add(&modelPlace{use: c.use, calls: 1})
		if c.of != nil {
			c.of.places = append(c.of.places, c.place)
		}
		m.inOrder([]Use{c.use}, c.since, true)
	}
}

// endCall ends a call, or its wait.
func (m *model) endCall(at int) {
	if len(m.calls) == 0 {
		return
	}
	c := m.calls[at%len(m.calls)]
	if c.waits() {
		c.cancel()
		return
	}
	m.calls = slices.DeleteFunc(m.calls, func(other *modelCall) bool { return other == c })
	c.cancel()
	p := c.place
	p.calls--
	if p.beside[c] {
		if delete(p.beside, c); len(p.beside) == 0 {
			p.beside = nil
			p.lent = (p.own || p.calls > 0) && c.of.grant.back == nil // the handler still waits
		}
	}
	m.free()
	c.call.End()
}
