package limit

import (
	"slices"
	"time"
)

// Owner is a scheduler with waiters. It tries them itself, in their order, when it can begin
// something, and listens while it waits for something to do.
type Owner struct {
	set       *Set
	signal    func() // wakes the scheduler; must not block, nor call the set
	listening bool
	closed    bool
	waiters   []*Waiter // in their order
	backs     []*Waiter
}

// NewOwner returns an owner. Signal wakes its scheduler: one of its waiters may be ready.
func (s *Set) NewOwner(signal func()) *Owner { return &Owner{set: s, signal: signal} }

// NewWaiter returns a waiter for these uses. Lower ranks go first within the owner. After the given time, if it is
// positive, the waiter needs nothing any more.
func (o *Owner) NewWaiter(uses []Use, rank int, expires time.Duration) *Waiter {
	o.set.mu.Lock()
	defer o.set.mu.Unlock()
	w := &Waiter{set: o.set, owner: o, needs: needsOf(uses), rank: rank}
	if expires > 0 {
		w.expires = o.set.now() + expires
	}
	return w
}

// MayBegin tells whether a waiter could be taken now.
func (w *Waiter) MayBegin() bool {
	w.set.mu.Lock()
	defer w.set.mu.Unlock()
	return w.may()
}

// Retry is MayBegin for a waiter that is parked if it may not.
func (w *Waiter) Retry() bool {
	w.set.mu.Lock()
	defer w.set.mu.Unlock()
	w.blocked = false
	if w.may() {
		return true
	}
	w.park()
	return false
}

// Take takes what the waiter needs, if there is room and it is its turn.
func (w *Waiter) Take() (g *Grant, ok bool) {
	w.set.mu.Lock()
	defer w.set.mu.Unlock()
	if !w.may() {
		return nil, false
	}
	return w.take(), true
}

// Park puts the waiter in line, unless it is.
func (w *Waiter) Park() {
	w.set.mu.Lock()
	defer w.set.mu.Unlock()
	w.park()
}

// Leave takes the waiter out of line.
func (w *Waiter) Leave() {
	w.set.mu.Lock()
	defer w.set.mu.Unlock()
	w.leave()
}

// Ready returns the waiters that could be taken now, in their order, until yield returns
// false. They keep their places in line.
func (o *Owner) Ready(yield func(w *Waiter) bool) {
	var ready []*Waiter
	o.set.mu.Lock()
	for _, w := range o.waiters {
		w.blocked = false
	}
	o.set.look(o, func(w *Waiter) {
		if !w.back {
			ready = append(ready, w)
		}
	})
	o.set.mu.Unlock()
	for _, w := range ready {
		if !yield(w) {
			return
		}
	}
}

// Block says that the owner cannot begin the waiter now, whatever room there is, until it
// asks for Ready again.
func (w *Waiter) Block() {
	w.set.mu.Lock()
	defer w.set.mu.Unlock()
	w.blocked = true
	w.set.kick() // it is the turn of the next one
}

// Listen says that the owner has tried all its waiters, and takes a turn as soon as it is
// signalled. After that, and before it does anything else, it calls Leave.
func (o *Owner) Listen() {
	o.set.mu.Lock()
	defer o.set.mu.Unlock()
	o.listening = true
	if len(o.waiters)+len(o.backs) > 0 {
		o.set.kick() // the room may have changed since they were tried
	}
}

// Leave says that the owner does something else. Turns that its waiters would have had go
// to others.
func (o *Owner) Leave() {
	o.set.mu.Lock()
	defer o.set.mu.Unlock()
	o.listening = false
	if len(o.waiters)+len(o.backs) > 0 {
		o.set.kick()
	}
}

// Close takes all waiters of the owner out of line, for good.
func (o *Owner) Close() {
	o.set.mu.Lock()
	defer o.set.mu.Unlock()
	o.closed = true
	for _, w := range slices.Concat(o.waiters, o.backs) {
		w.leave()
	}
}

// Len returns how many waiters are in line.
func (o *Owner) Len() int {
	o.set.mu.Lock()
	defer o.set.mu.Unlock()
	return len(o.waiters)
}

// Lack is what has no room for a waiter, the first of all that it needs, and when there is room again, if only time is missing.
type Lack struct {
	Use
	Due time.Time
}

// Lacks returns what has no room for the waiters in line, all at one moment. It leaves out those that have room for all that
// they need.
func (o *Owner) Lacks() map[*Waiter]Lack {
	o.set.mu.Lock()
	defer o.set.mu.Unlock()
	all := make(map[*Waiter]Lack, len(o.waiters))
	for _, w := range o.waiters {
		if lack, lacks := w.lacks(); lacks {
			all[w] = lack
		}
	}
	return all
}

func (w *Waiter) lacks() (Lack, bool) {
	for _, n := range w.needs {
		if !n.placesFree() {
			return Lack{Use: Use{Limit: n.limit, Key: n.key}}, true
		}
		if _, wait := n.next(w.set.clock()); n.token && wait > 0 {
			return Lack{Use{Limit: n.limit, Key: n.key}, time.Now().Add(wait)}, true
		}
	}
	return Lack{}, false
}
