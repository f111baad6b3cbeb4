package limit

import (
	"cmp"
	"slices"
	"time"
)

// patience is how often others of its owner may overtake a waiter.
const patience = 8

// need is room in a bucket.
type need struct {
	*bucket
	places int  // for so many that run: several only of what was lent
	token  bool // one of the rate
}

// Waiter is something that needs room in buckets, and gets all of it or nothing. Until it is
// parked the set does not know it.
type Waiter struct {
	Of any // for the owner

	set       *Set
	owner     *Owner        // nil for a goroutine that waits
	granted   chan struct{} // closed when the wait of a goroutine is over; nil otherwise
	ended     bool          // so is granted
	err       error         // how it is over
	needs     []need
	into      *Grant // where what a call gets is put; nil for a new one
	call      *held  // what it has got
	regains   *Call  // that takes back what is lent; nil for others
	order     int64  // in all lines
	rank      int    // within the owner, lower ones go first
	overtaken int
	back      bool // it takes back what it has lent, before all others
	blocked   bool // its owner cannot begin it now
	parked    bool
	timer     *time.Timer
	expires   time.Duration // needs nothing from then on; 0 for never
}

// needsOf returns what these uses need.
func needsOf(uses []Use) []need {
	needs := make([]need, 0, len(uses))
	for _, u := range uses {
		b := u.bucket(u.Key)
		if !slices.ContainsFunc(needs, func(n need) bool { return n.bucket == b }) { // two uses may have the same key
			needs = append(needs, need{bucket: b, places: min(u.AtOnce, 1), token: u.Rate > 0})
		}
	}
	return needs
}

// room tells whether there is room for all that it needs.
func (w *Waiter) room() bool {
	for _, n := range w.needs {
		if !n.placesFree() || n.token && !n.bucket.tokenDue() {
			return false // tokens that were leased meanwhile would be lost
		}
	}
	room := true
	for _, n := range w.needs {
		room = (!n.token || n.tokenFree()) && room // each is asked, so that all are leased at once
	}
	return room
}

// placesFree allows for limits that have fewer places by now than were lent.
func (n need) placesFree() bool {
	return n.places == 0 || n.bucket.free(min(n.places, n.bucket.limit.AtOnce))
}

// hears tells whether the owner of the waiter takes its turn if it is ready.
func (w *Waiter) hears() bool { return w.owner == nil || w.owner.listening && !w.blocked }

// passed tells whether another waiter goes before this one. One of the same owner does if it
// is parked and this one is not: it has become ready after its owner has asked for Ready.
func (w *Waiter) passed() bool {
	if w.back {
		return false
	}
	for _, n := range w.needs {
		for _, other := range n.waiters {
			if other == w {
				break
			}
			goes := other.hears()
			if w.owner != nil && other.owner == w.owner {
				goes = !w.parked && !other.blocked && other.rank <= w.rank
			}
			if goes && other.room() {
				return true
			}
		}
	}
	return false
}

// may tells whether it can begin now.
func (w *Waiter) may() bool {
	w.renew()
	return w.room() && !w.passed()
}

// renew makes sure that the buckets are those that others see: one that was idle may have been
// swept, as long as the waiter is not parked.
func (w *Waiter) renew() {
	if w.parked {
		return
	}
	for i := range w.needs {
		n := &w.needs[i]
		if b := n.limit.buckets[n.key]; b != nil {
			n.bucket = b
		} else {
			n.limit.buckets[n.key] = n.bucket
		}
	}
}

// take takes what it needs. The caller knows that it is ready.
func (w *Waiter) take() *Grant {
	g := w.into
	if g == nil {
		g = &Grant{set: w.set}
	}
	if w.regains != nil {
		w.regains.held.regain()
		return g
	}
	for _, n := range w.needs {
		if n.token {
			n.takeToken()
		}
		n.used += n.places
		h := &held{bucket: n.bucket, grant: g, place: n.places > 0, own: w.into == nil}
		if w.into != nil {
			h.calls, w.call = 1, h
		}
		g.held = append(g.held, h)
	}
	w.leave()
	return g
}

// park puts the waiter in line. All lines have the same order, so no two waiters wait for
// each other to go first.
func (w *Waiter) park() {
	if w.parked || w.owner != nil && w.owner.closed {
		return
	}
	w.renew()
	w.parked = true
	w.set.parked++
	w.order = w.set.parked
	if w.back {
		w.order -= 1 << 62 // before all others
	}
	for _, n := range w.needs {
		n.waiters = append(n.waiters, w)
	}
	if w.owner != nil && !w.back {
		w.owner.waiters = append(w.owner.waiters, w)
		w.overtake()
	}
	w.set.line = append(w.set.line, w)
	if w.back || w.order != w.set.parked {
		w.sort()
		slices.SortFunc(w.set.line, inOrder)
	}
	w.alarm()
	for _, n := range w.needs {
		n.ring()
	}
}

// overtake puts the waiter, which is the last, before those of its owner that have a higher rank. They
// move back by one: each has the place in line that the next of them had.
func (w *Waiter) overtake() {
	line := w.owner.waiters
	at := slices.IndexFunc(line, func(other *Waiter) bool { return other.rank > w.rank && other.overtaken < patience })
	if at < 0 {
		return
	}
	last := w.order
	w.order = line[at].order
	for i, other := range line[at : len(line)-1] {
		if other.overtaken++; at+i+2 < len(line) {
			other.order = line[at+i+1].order
		} else {
			other.order = last
		}
	}
	slices.SortFunc(line, inOrder)
	for _, other := range line[at:] {
		other.sort()
	}
}

// sort puts the lines that the waiter is in in order.
func (w *Waiter) sort() {
	for _, n := range w.needs {
		slices.SortFunc(n.waiters, inOrder)
	}
}

func inOrder(a, b *Waiter) int { return cmp.Compare(a.order, b.order) }

// leave takes the waiter out of line. Those behind it may begin.
func (w *Waiter) leave() {
	if w.regains != nil {
		h := w.regains.held
		h.regaining = slices.DeleteFunc(h.regaining, func(other *Waiter) bool { return other == w })
	}
	if !w.parked {
		return
	}
	w.parked = false
	is := func(other *Waiter) bool { return other == w }
	if w.timer != nil {
		w.timer.Stop()
	}
	if w.owner != nil && !w.back {
		w.owner.waiters = slices.DeleteFunc(w.owner.waiters, is)
	}
	for _, n := range w.needs {
		n.waiters = slices.DeleteFunc(n.waiters, is)
	}
	w.set.line = slices.DeleteFunc(w.set.line, is)
	w.set.kick()
}

// alarm sets the timer for the time from which on it needs nothing any more.
func (w *Waiter) alarm() {
	left := w.expires - w.set.now()
	if left <= 0 {
		return
	}
	if w.timer == nil {
		w.timer = time.AfterFunc(left, w.rings)
	} else {
		w.timer.Reset(left)
	}
}

// rings is called when its time has ended.
func (w *Waiter) rings() {
	w.set.mu.Lock()
	defer w.set.mu.Unlock()
	if !w.parked || w.set.now() < w.expires {
		return
	}
	for _, n := range w.needs {
		n.waiters = slices.DeleteFunc(n.waiters, func(other *Waiter) bool { return other == w })
	}
	w.needs = nil
	w.set.kick()
}

// Expired tells whether its time has ended, so that it needs nothing any more.
func (w *Waiter) Expired() bool {
	w.set.mu.Lock()
	defer w.set.mu.Unlock()
	return w.expires > 0 && w.set.now() >= w.expires
}

// end tells the goroutine that waits, once.
func (w *Waiter) end(err error) {
	if w.ended {
		return
	}
	w.ended = true
	if w.leave(); err != nil {
		w.err = err
	}
	close(w.granted)
}
