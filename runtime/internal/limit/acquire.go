package limit

import (
	"cmp"
	"context"
	"slices"
)

// Call is room that a goroutine uses until End: its own, or that of a grant or of another
// call, which it shares. It is free again when the last user has ended.
type Call struct {
	held *held
	lap  int // of the room, if the call works in it beside a handler that has lent it; else 0
}

// Join returns a call in the room that g holds for a use itself; nil if it holds none. It may
// be called on nil. The room may be lent: see [Call.Regain].
func (g *Grant) Join(u Use) *Call {
	if g == nil {
		return nil
	}
	g.set.mu.Lock()
	defer g.set.mu.Unlock()
	// A bucket without places may be another one now: the key was not in use for a while.
	at := slices.IndexFunc(g.held, func(h *held) bool { return h.limit == u.Limit && h.key == u.Key && h.own })
	if at < 0 {
		return nil
	}
	return g.held[at].join()
}

// Join returns a call in the same room; nil if that is free. The room may be lent: see
// [Call.Regain].
func (c *Call) Join() *Call {
	s := c.held.limit.set
	s.mu.Lock()
	defer s.mu.Unlock()
	if !c.held.own && c.held.calls == 0 {
		return nil
	}
	return c.held.join()
}

func (h *held) join() *Call {
	h.calls++
	return &Call{held: h}
}

// Regain returns the call when its room is not lent. Until then it waits, like others, and takes the room
// back for itself and those that come later; the rest of the grant stays lent. When the last of them has
// ended, the room is lent again. In other cases it returns what [Set.Acquire] does; then the call has ended.
func (c *Call) Regain(ctx context.Context) (*Call, error) {
	h := c.held
	s := h.limit.set
	over := causeOf(ctx)
	s.mu.Lock()
	if !h.lent {
		c.beside()
		s.mu.Unlock()
		return c, nil
	}
	w := &Waiter{set: s, into: h.grant, regains: c, needs: []need{{bucket: h.bucket, places: 1}}}
	h.regaining = append(h.regaining, w)
	if err := s.await(ctx, over, w); err != nil {
		c.End()
		return nil, err
	}
	return c, nil
}

// beside counts a call that works in room which was lent, and was taken back for calls.
func (c *Call) beside() {
	if h := c.held; h.beside > 0 {
		h.beside++
		c.lap = h.lap
	}
}

// regain takes room back for the calls that wait for it.
func (h *held) regain() {
	h.unlend()
	h.beside = 1
	h.joined(func(c *Call) { c.beside() })
	h.beside--
	if g := h.grant; g.back != nil { // it needs less now
		owner := g.back.owner
		g.endBack()
		owner.signal()
	}
}

// joined ends the waits of the calls that wait for the room.
func (h *held) joined(is func(c *Call)) {
	for _, w := range slices.Clone(h.regaining) {
		is(w.regains)
		w.call = h
		w.end(nil)
	}
}

// End says that the room is not used by this call any more.
func (c *Call) End() {
	h := c.held
	s := h.limit.set
	s.mu.Lock()
	defer s.mu.Unlock()
	h.calls--
	g, last := h.grant, false
	if c.lap > 0 && c.lap == h.lap {
		h.beside--
		last = h.beside == 0
	}
	if h.own || h.calls > 0 {
		if last && g.back == nil { // the handler still waits
			h.lend()
			s.kick()
		}
		return
	}
	if g.back != nil && h.lent { // it is not wanted back any more
		owner := g.back.owner
		g.endBack()
		owner.signal()
	}
	g.free()
}

// Called returns the names of the limits in which calls use room that g holds no longer.
func (g *Grant) Called() (names []string) {
	if g == nil {
		return nil
	}
	g.set.mu.Lock()
	defer g.set.mu.Unlock()
	for _, h := range g.held {
		if !h.own && h.place && !slices.Contains(names, h.limit.Name) {
			names = append(names, h.limit.Name)
		}
	}
	return names
}

// Acquire waits for room for a use, and adds it to a grant. The error is that of the context, or the reason of
// [Set.Close].
func (s *Set) Acquire(ctx context.Context, u Use, into *Grant) (*Call, error) {
	over := causeOf(ctx)
	s.mu.Lock()
	w := &Waiter{set: s, into: into, needs: needsOf([]Use{u})}
	if err := s.await(ctx, over, w); err != nil {
		return nil, err
	}
	return &Call{held: w.call}, nil
}

// causeOf returns why a context has ended, or nil. It is not asked while mu is held: the context may be an attempt, whose
// lock is taken before.
func causeOf(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return context.Cause(ctx)
}

// await waits until a waiter of a goroutine has got what it needs, unless its context was over. The caller holds mu, and
// does not any more when it returns.
func (s *Set) await(ctx context.Context, over error, w *Waiter) error {
	if err := cmp.Or(s.reason, over); err != nil {
		w.leave()
		s.mu.Unlock()
		return err
	}
	w.granted = make(chan struct{})
	if w.may() {
		w.take()
		s.mu.Unlock()
		return nil
	}
	w.park()
	s.mu.Unlock()
	select {
	case <-w.granted:
	case <-ctx.Done():
		over = causeOf(ctx)
		s.mu.Lock()
		defer s.mu.Unlock()
		if w.parked {
			w.leave()
			return over
		}
		<-w.granted
	}
	return w.err
}
