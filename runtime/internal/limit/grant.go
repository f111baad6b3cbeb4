package limit

import (
	"slices"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// Grant is what something has got, and holds until it is released.
type Grant struct {
	set  *Set
	held []*held
	back *Waiter // what is lent wants to come back; nil if not
}

// held is a bucket that a grant is in: for itself, for calls, or for both.
type held struct {
	*bucket
	grant *Grant // that it is in
	place bool   // and a place in it, unless it is lent
	lent  bool
	own   bool // the grant holds it until it is released
	calls int  // that have not ended (acquire.go)

	regaining []*Waiter // of calls that wait for the place, which is lent
	beside    int       // calls that have it back, while the rest of the grant is lent
	lap       int       // changes when what is beside is so no longer
}

// lend lets others have the place.
func (h *held) lend() {
	h.lent, h.beside = true, 0
	h.lap++
	h.used--
	h.lends++
}

// unlend undoes lend, also if another holder has taken the place.
func (h *held) unlend() {
	h.lent = false
	h.lap++
	h.used++
	h.lends--
}

// NewGrant returns an empty one.
func (s *Set) NewGrant() *Grant { return &Grant{set: s} }

// Release gives everything back but what calls still use. A second call does nothing. It may
// be called on nil.
func (g *Grant) Release() {
	if g == nil {
		return
	}
	g.set.mu.Lock()
	defer g.set.mu.Unlock()
	g.endBack()
	for _, h := range g.held {
		h.own = false
	}
	g.free()
}

// free gives back the places that are not used any more: all of them, and only then wakes the
// waiters, so that one that needs several places does not find the first of them taken.
func (g *Grant) free() {
	freed := false
	g.held = slices.DeleteFunc(g.held, func(h *held) bool {
		if h.own || h.calls > 0 {
			return false
		}
		switch {
		case h.place && h.lent:
			h.lends--
		case h.place:
			h.used--
			freed = true
		}
		return true
	})
	if freed {
		g.set.kick()
	}
}

// Places returns the limits in which something has a place at the moment. It may be called on nil.
func (g *Grant) Places() (all []event.Place) {
	if g == nil {
		return nil
	}
	g.set.mu.Lock()
	defer g.set.mu.Unlock()
	for _, h := range g.held {
		if h.place && !h.lent && h.limit.Name != "" {
			named := engine.Named(engine.WaitlistOf(event.WaitlistLimit, h.limit.Name+" "+h.key))
			all = append(all, event.Place{Limit: named.Limit, Key: named.Key})
		}
	}
	return all
}

// Lend lets others have the places of g, until TakeBack or Force. It may be called again, for
// what has been added since. Nothing wants to come back then.
func (g *Grant) Lend() {
	if g == nil {
		return
	}
	g.set.mu.Lock()
	defer g.set.mu.Unlock()
	g.endBack()
	freed := false
	for _, h := range g.held {
		if h.place && !h.lent {
			h.lend()
			freed = true
		}
	}
	if freed {
		g.set.kick()
	}
}

// MayReturn tells whether TakeBack would take all places back, and, if not, makes sure that
// the owner is signalled when that may have changed.
func (g *Grant) MayReturn(o *Owner) bool {
	if g == nil {
		return true
	}
	g.set.mu.Lock()
	defer g.set.mu.Unlock()
	if g.back == nil {
		w := &Waiter{set: g.set, owner: o, into: g, back: true}
		for _, h := range g.held {
			if h.lent {
				w.wants(h.bucket)
			}
		}
		if len(w.needs) == 0 {
			return true
		}
		g.back = w
		w.park()
		o.backs = append(o.backs, w)
	}
	g.back.blocked = false
	return g.back.room()
}

// wants adds a place in a bucket to what comes back. Several calls can have lent one each, and
// more than there are, if some were taken while others were lent: then all come back together.
func (w *Waiter) wants(b *bucket) {
	at := slices.IndexFunc(w.needs, func(n need) bool { return n.bucket == b })
	if at < 0 {
		w.needs = append(w.needs, need{bucket: b, places: 1})
		return
	}
	w.needs[at].places = min(w.needs[at].places+1, b.limit.AtOnce)
}

// Blocked says that the places cannot be taken back now, whatever room there is.
func (g *Grant) Blocked() {
	if g == nil {
		return
	}
	g.set.mu.Lock()
	defer g.set.mu.Unlock()
	if g.back != nil {
		g.back.blocked = true
	}
}

// TakeBack undoes Lend. It reports false if there is no room.
func (g *Grant) TakeBack() bool {
	if g == nil {
		return true
	}
	g.set.mu.Lock()
	defer g.set.mu.Unlock()
	if g.back != nil && !g.back.room() {
		return false
	}
	g.force()
	return true
}

// Force undoes Lend, also if other holders have taken the places.
func (g *Grant) Force() {
	if g == nil {
		return
	}
	g.set.mu.Lock()
	defer g.set.mu.Unlock()
	g.force()
}

func (g *Grant) force() {
	for _, h := range g.held {
		if h.lent {
			h.unlend()
		}
		h.beside = 0
		h.lap++
	}
	g.endBack()
	for _, h := range g.held {
		h.joined(func(*Call) {})
	}
}

func (g *Grant) endBack() {
	if w := g.back; w != nil {
		g.back = nil
		w.owner.backs = slices.DeleteFunc(w.owner.backs, func(other *Waiter) bool { return other == w })
		w.leave()
	}
}
