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
	kept      []*modelDelivery
}

type modelDelivery struct {
	uses   []Use
	rank   int
	urgent bool
	waiter *Waiter
	since  int // in line
	grant  *Grant
	places []*modelPlace // kept
}

// missing returns what the delivery needs and is not kept for it.
func (d *modelDelivery) missing() []Use {
	return slices.DeleteFunc(slices.Clone(d.uses), func(u Use) bool {
		return slices.ContainsFunc(d.places, func(p *modelPlace) bool { return p.use == u })
	})
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
		d.waiter = o.owner.NewWaiter(d.uses, d.grant, d.rank, 0)
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
	g, late, ok := d.waiter.Take()
	if !ok {
		return false
	}
	if late != nil {
		o.m.wrong("a delivery is late that has no time to wait")
	}
	o.parked = slices.DeleteFunc(o.parked, func(other *modelDelivery) bool { return other == d })
	if missing := d.missing(); len(missing) > 0 {
		o.m.inOrder(missing, d.since, false)
	}
	a := &modelAttempt{o: o, uses: d.uses, rank: d.rank, grant: g, places: d.places, guest: !o.worker()}
	for _, u := range d.missing() {
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
		if o.eligible(d) && o.m.room(d.missing()) {
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

func (m *model) retry(s step) {
	o := m.owner(s)
	if len(o.kept) == 0 {
		return
	}
	at := s.At % len(o.kept)
	o.pending = append(o.pending, o.kept[at])
	o.kept = slices.Delete(o.kept, at, at+1)
	o.signalled.Store(true)
}

func (o *modelOwner) cancel(at int) {
	if len(o.parked) == 0 {
		return
	}
	d := o.parked[at%len(o.parked)]
	o.parked = slices.DeleteFunc(o.parked, func(other *modelDelivery) bool { return other == d })
	d.waiter.Leave()
	o.release(d)
}

// release gives back what is kept for a delivery.
func (o *modelOwner) release(d *modelDelivery) {
	for _, p := range d.places {
		p.own = false
	}
	d.places = nil
	o.m.free()
	d.grant.Release()
	d.grant = nil
}

// pause frees what events hold between their attempts. Those in line need it again.
func (o *modelOwner) pause(paused bool) {
	if o.paused == paused {
		return
	}
	o.paused = paused
	o.signalled.Store(true)
	o.owner.Pause(paused)
	for _, d := range slices.Concat(o.kept, o.pending, o.parked) {
		if paused && d.grant != nil {
			if at := slices.Index(o.parked, d); at >= 0 {
				d.waiter.Leave()
				o.parked = slices.Delete(o.parked, at, at+1)
				o.pending = append(o.pending, d)
			}
			o.release(d)
		}
	}
}
