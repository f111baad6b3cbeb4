package limit

import (
	"cmp"
	"fmt"
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
	event  bool // the place is for all attempts of an event
}

// Waiter is something that needs room in buckets, and gets all of it or nothing. Until it is
// parked nobody knows of it.
type Waiter struct {
	Of any // for the owner

	set       *Set
	owner     *Owner        // nil for a goroutine that waits
	granted   chan struct{} // closed when the wait of a goroutine is over; nil otherwise
	ended     bool          // so is granted
	err       error         // how it is over
	needs     []need
	kept      *Grant // held for its event before
	into      *Grant // where what a call gets is put; nil for a new one
	call      *held  // what it has got
	regains   *Call  // that takes back what is lent; nil for others
	order     int64  // in all lines
	rank      int    // within the owner, lower ones go first
	overtaken int
	back      bool // it takes back what it has lent, before all others
	blocked   bool // its owner cannot begin it now
	parked    bool
	since     time.Duration
	timer     *time.Timer
	expires   time.Duration      // needs nothing from then on; 0 for never
	late      *LimitTimeoutError // it has waited for too long
}

// LimitTimeoutError is documented in package runtime.
type LimitTimeoutError struct {
	Limit string
	Key   string // empty for a limit without keys
	Wait  time.Duration
}

// Error names the limit and how long it had no room.
func (e *LimitTimeoutError) Error() string {
	if e.Key != "" {
		return fmt.Sprintf("limit %q had no room for %q within %v", e.Limit, e.Key, e.Wait)
	}
	return fmt.Sprintf("limit %q had no room within %v", e.Limit, e.Wait)
}

// needsOf returns what these uses need beside what is held.
func needsOf(uses []Use, held ...*Grant) []need {
	needs := make([]need, 0, len(uses))
	for _, u := range uses {
		b := u.bucket(u.Key)
		if at := slices.IndexFunc(needs, func(n need) bool { return n.bucket == b }); at >= 0 {
			needs[at].event = needs[at].event || u.Event // two uses have the same key
			continue
		}
		n := need{bucket: b, places: min(u.AtOnce, 1), token: u.Rate > 0, event: u.Event}
		for _, g := range held {
			if g != nil && g.has(b) {
				n.places = 0
			}
		}
		if n.places > 0 || n.token {
			needs = append(needs, n)
		}
	}
	return needs
}

// ready tells whether there is room for all that it needs, or it has waited for long enough.
func (w *Waiter) ready() bool { return !w.keptBusy() && (w.late != nil || w.room()) }

// keptBusy tells whether whoever has had what is kept for its event is still at work.
func (w *Waiter) keptBusy() bool { return w.kept != nil && w.kept.from != nil }

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

func (n need) free() bool { return n.placesFree() && (!n.token || n.tokenFree()) }

// placesFree allows for limits that have fewer places by now than were lent.
func (n need) placesFree() bool {
	return n.places == 0 || n.bucket.free(min(n.places, n.bucket.limit.AtOnce))
}

// hears tells whether somebody takes the turn of the waiter if it is ready.
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
			if goes && other.ready() {
				return true
			}
		}
	}
	return false
}

// may tells whether it can begin now.
func (w *Waiter) may() bool {
	w.renew()
	return !w.keptBusy() && (w.late != nil || w.room() && !w.passed())
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
func (w *Waiter) take() (g *Grant, late *LimitTimeoutError) {
	g = w.into
	if g == nil {
		g = &Grant{set: w.set}
	}
	if w.kept != nil {
		w.kept.noKeep()
		g.held = append(g.held, w.kept.held...)
		w.kept.held, w.kept = nil, nil
		g.adopt()
	}
	if w.late != nil && !w.room() {
		w.leave()
		return g, w.late
	}
	if w.regains != nil {
		if len(w.needs) > 0 { // else it goes on without
			w.regains.held.regain()
		}
		return g, nil
	}
	for _, n := range w.needs {
		if n.token {
			n.takeToken()
		}
		n.used += n.places
		h := &held{bucket: n.bucket, grant: g, place: n.places > 0, event: n.event, own: w.into == nil}
		if w.into != nil {
			h.calls, w.call = 1, h
		}
		g.held = append(g.held, h)
	}
	w.leave()
	return g, nil
}

// park puts the waiter in line. All lines have the same order, so no two waiters wait for
// each other to go first.
func (w *Waiter) park() {
	if w.parked || w.owner != nil && w.owner.closed {
		return
	}
	w.renew()
	w.parked, w.since = true, w.set.now()
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
		if w.presses() {
			for _, o := range n.keepers {
				o.signal()
			}
		}
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

// patrol is how often a limit is looked at, at most, that had room when a waiter's time was over.
const patrol = 100 * time.Millisecond

// paused tells whether it would not begin if there were room: that time is no wait.
func (w *Waiter) paused() bool { return w.owner != nil && w.owner.paused }

// alarm sets the timer for the next time at which something ends that it waits for.
func (w *Waiter) alarm() {
	now, at := w.set.now(), time.Duration(0)
	earlier := func(t time.Duration) {
		if t > 0 && (at == 0 || t < at) {
			at = t
		}
	}
	if w.expires > now {
		earlier(w.expires)
	}
	for _, n := range w.needs {
		if wait := n.limit.Wait; wait > 0 && !w.back && !w.paused() {
			end := w.since + wait
			if end <= now { // there was room, but no worker
				every := max(wait, patrol)
				end += ((now-end)/every + 1) * every
			}
			earlier(end)
		}
	}
	if at == 0 {
		return
	}
	if w.timer == nil {
		w.timer = time.AfterFunc(at-now, w.rings)
	} else {
		w.timer.Reset(at - now)
	}
}

// rings is called when a time has ended. A limit that has room now was not too slow.
func (w *Waiter) rings() {
	w.set.mu.Lock()
	defer w.set.mu.Unlock()
	if !w.parked || w.late != nil {
		return
	}
	now := w.set.now()
	drop := func(n need) bool {
		n.waiters = slices.DeleteFunc(n.waiters, func(other *Waiter) bool { return other == w })
		return true
	}
	expired := w.expires > 0 && now >= w.expires
	w.needs = slices.DeleteFunc(w.needs, func(n need) bool {
		wait := n.limit.Wait
		switch {
		case expired:
			return drop(n)
		case wait == 0 || w.paused() || now-w.since < wait || n.free():
			return false
		case n.limit.Lax:
			return drop(n)
		case w.late == nil:
			w.late = &LimitTimeoutError{Limit: n.limit.Name, Key: n.key, Wait: wait}
		}
		return false
	})
	if w.late != nil && w.owner == nil {
		w.end(w.late)
	}
	w.set.kick()
	if w.parked && w.late == nil {
		w.alarm()
	}
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
