package limit

import (
	"context"
	"slices"
)

// Call is room that a goroutine uses until End: its own, or that of a grant or of another
// call, which it shares. It is free again when nobody uses it, in whatever order they end.
type Call struct{ held *held }

// Join returns a call in the room that g holds for a use itself; nil if it holds none. It may
// be called on nil.
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

// Join returns a call in the same room; nil if nobody uses that any more.
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
	return &Call{h}
}

// End says that the room is not used by this call any more.
func (c *Call) End() {
	h := c.held
	s := h.limit.set
	s.mu.Lock()
	defer s.mu.Unlock()
	h.calls--
	g := h.grant
	if h.own || h.calls > 0 {
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

// Acquire waits for room for a use, and adds it to a grant. The call is nil for a limit that is
// lax and had no room for its Wait. The error is that of the context, a *[LimitTimeoutError],
// or the reason of [Set.Close].
func (s *Set) Acquire(ctx context.Context, u Use, into *Grant) (*Call, error) {
	s.mu.Lock()
	if err := s.reason; err != nil {
		s.mu.Unlock()
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		s.mu.Unlock()
		return nil, context.Cause(ctx)
	}
	w := &Waiter{set: s, into: into, needs: needsOf([]Use{u})}
	if w.may() {
		w.take()
		s.mu.Unlock()
		return &Call{w.call}, nil
	}
	w.granted = make(chan struct{})
	w.park()
	s.mu.Unlock()
	select {
	case <-w.granted:
	case <-ctx.Done():
		s.mu.Lock()
		defer s.mu.Unlock()
		if w.parked {
			w.leave()
			return nil, context.Cause(ctx)
		}
		<-w.granted
	}
	if w.err != nil || w.call == nil {
		return nil, w.err
	}
	return &Call{w.call}, nil
}
