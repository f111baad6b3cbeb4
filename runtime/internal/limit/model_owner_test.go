package limit

import (
	"slices"
	"sync/atomic"
)

// The schedulers of the model, as package dispatch has them.

// modelOwner is a scheduler with so many places.
type modelOwner struct {
	m         *model
	name      string
	owner     *Owner
	places    int
	signalled atomic.Bool
	listening bool
	paused    bool
	pending   []*modelDelivery // not yet asked for
	parked    []*modelDelivery
	attempts  []*modelAttempt
	asking    []*modelAttempt // that want back what they have lent
}

type modelDelivery struct {
	uses   []Use
	rank   int
	urgent bool
	waiter *Waiter
	since  int // in line
}

func (o *modelOwner) count(is func(*modelAttempt) bool) (n int) {
	for _, a := range o.attempts {
		if is(a) {
			n++
		}
	}
	return n
}

func (o *modelOwner) full() bool {
	return o.count(func(a *modelAttempt) bool { return !a.lends }) >= o.places
}

// worker tells whether one is idle that may begin anything, and present whether one is idle.
func (o *modelOwner) worker() bool {
	return o.count(func(a *modelAttempt) bool { return !a.guest }) < o.places
}

func (o *modelOwner) present() bool {
	return o.worker() || o.count(waits) > o.count(func(a *modelAttempt) bool { return a.guest })
}

func (o *modelOwner) eligible(d *modelDelivery) bool { return o.worker() || d.urgent }

// turn does what a worker does that is woken.
func (o *modelOwner) turn() {
	o.signalled.Store(false)
	if o.listening {
		o.take() // it is its turn
		o.listening = false
		o.owner.Leave()
		o.signalled.Store(false) // it looks for new ones
	}
	for o.present() && o.take() {
	}
	if o.present() && !o.paused && !o.full() {
		o.listening = true
		o.owner.Listen()
	}
}

// take lets one begin or come back.
func (o *modelOwner) take() bool {
	for _, a := range slices.Clone(o.asking) {
		switch {
		case a.keyUsed:
			a.grant.Blocked()
		case o.full():
			return false
		case a.grant.MayReturn(o.owner) && a.grant.TakeBack():
			a.isBack()
		}
	}
	if o.paused || o.full() {
		return false
	}
	for w := range o.owner.Ready {
		d := w.Of.(*modelDelivery)
		if !o.eligible(d) {
			w.Block()
			continue
		}
		if o.begin(d) {
			return true
		}
	}
	for _, d := range slices.Clone(o.pending) {
		if !o.eligible(d) {
			continue
		}
		o.pending = slices.DeleteFunc(o.pending, func(other *modelDelivery) bool { return other == d })
		d.waiter = o.owner.NewWaiter(d.uses, d.rank, 0)
		d.waiter.Of = d
		o.m.clock++
		d.since = o.m.clock
		if d.waiter.MayBegin() && o.begin(d) {
			return true
		}
		o.parked = append(o.parked, d)
		d.waiter.Park()
	}
	return false
}

func (o *modelOwner) begin(d *modelDelivery) bool {
	g, ok := d.waiter.Take()
	if !ok {
		return false
	}
	o.parked = slices.DeleteFunc(o.parked, func(other *modelDelivery) bool { return other == d })
	o.m.inOrder(d.uses, d.since, false)
	a := &modelAttempt{o: o, grant: g, guest: !o.worker()}
	for _, u := range d.uses {
		a.places = append(a.places, o.m.add(&modelPlace{use: u, own: true}))
	}
	o.attempts = append(o.attempts, a)
	return true
}

// check says who waits that could begin.
func (o *modelOwner) check() {
	if !o.present() || o.full() {
		return
	}
	for _, a := range o.asking {
		if !a.keyUsed && o.m.room(a.lent()) {
			o.m.wrong("a handler of %s does not come back although there is room", o.name)
		}
	}
	if o.paused {
		return
	}
	for _, d := range append(o.pending, o.parked...) {
		if o.eligible(d) && o.m.room(d.uses) {
			o.m.wrong("a delivery of %s waits although there is room", o.name)
		}
	}
}

func (m *model) arrive(s step, urgent bool) {
	o, rank := m.owner(s), 0
	if m.ranked {
		rank = s.Rank
	}
	o.pending = append(o.pending, &modelDelivery{uses: m.needs(s.Needs), rank: rank, urgent: urgent})
	o.signalled.Store(true)
}

func (o *modelOwner) cancel(at int) {
	if len(o.parked) == 0 {
		return
	}
	d := o.parked[at%len(o.parked)]
	o.parked = slices.DeleteFunc(o.parked, func(other *modelDelivery) bool { return other == d })
	d.waiter.Leave()
}

func (o *modelOwner) pause(paused bool) {
	o.paused = paused
	o.signalled.Store(true)
}
