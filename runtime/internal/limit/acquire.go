package limit

import (
	"context"
	"slices"
)

// Holds tells whether the grant is in the bucket of a use, other than by [Set.Acquire]. It
// may be called on nil.
func (g *Grant) Holds(u Use) bool {
	if g == nil {
		return false
	}
	g.set.mu.Lock()
	defer g.set.mu.Unlock()
	b := u.buckets[u.Key]
	return b != nil && slices.ContainsFunc(g.held, func(h held) bool { return h.bucket == b && !h.called })
}

// Acquire waits for room for a use, and adds it to a grant. The error is that of the
// context, a *[LimitTimeoutError], or the reason of [Set.Close].
func (s *Set) Acquire(ctx context.Context, u Use, into *Grant) (limited bool, err error) {
	s.mu.Lock()
	if err := s.reason; err != nil {
		s.mu.Unlock()
		return false, err
	}
	if err := ctx.Err(); err != nil {
		s.mu.Unlock()
		return false, context.Cause(ctx)
	}
	w := &Waiter{set: s, into: into, needs: needsOf([]Use{u})}
	if w.may() {
		w.take()
		s.mu.Unlock()
		return true, nil
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
			return false, context.Cause(ctx)
		}
		<-w.granted
	}
	return w.err == nil && len(w.needs) > 0, w.err
}

// Return gives back what Acquire has added for a use.
func (g *Grant) Return(u Use) {
	g.set.mu.Lock()
	defer g.set.mu.Unlock()
	b := u.buckets[u.Key]
	at := slices.IndexFunc(g.held, func(h held) bool { return h.bucket == b && h.called })
	if at < 0 {
		return
	}
	h := g.held[at]
	g.held = slices.Delete(g.held, at, at+1)
	h.free()
}
