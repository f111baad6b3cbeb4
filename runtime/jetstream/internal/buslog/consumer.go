package buslog

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// consumer is a subscription that the bus polls. It implements [engine.Consumer], and is
// guarded by the log's mu.
type consumer struct {
	unit  *unit
	name  string // that this process knows
	wake  func()
	fresh []flight                                                   // memory of those that come
	note  func(*engine.Delivery, engine.Disposition) []engine.Record // of a dead letter
	heeds func() bool                                                // of the dispatcher, see [engine.Source]; may be nil
	calls uint64                                                     // that poll or settle
	gone  bool                                                       // another consumer has taken its place, or the log is closed
}

// Consumer implements [engine.Dispatcher].
func (cl *cluster) Consumer(ctx context.Context, spec engine.ConsumerSpec) (engine.Consumer, error) {
	if err := cl.declare(ctx, nil, []engine.ConsumerSpec{spec}); err != nil {
		return nil, err
	}
	if err := cl.enter(); err != nil {
		return nil, err
	}
	u := cl.unitOf(cl.sub(cl.registry.known(spec.Name).ID))
	c := &consumer{unit: u, name: spec.Name, wake: func() {}, note: spec.Notice}
	if u.consumer != nil {
		u.consumer.end()
	}
	u.consumer = c
	other := u.owns() && u.parallel != spec.Parallel
	u.parallel = spec.Parallel
	dispatching := cl.dispatching
	cl.mu.Unlock()
	if !dispatching {
		return c, nil
	}
	if other { // it is divided anew
		if err := cl.release(ctx, u); err != nil {
			return nil, err
		}
	}
	crashes, err := cl.begin(ctx, u)
	cl.report(crashes)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// LetGo implements [engine.Dispatcher].
func (cl *cluster) LetGo(ctx context.Context, from engine.Consumer) error {
	c, ok := from.(*consumer)
	if !ok || c == nil {
		return cl.Flush(ctx)
	}
	if err := cl.enter(); err != nil {
		return err
	}
	u := c.unit
	ours := u.consumer == c
	c.end()
	cl.mu.Unlock()
	if !ours { // another consumer has taken its place
		return cl.Flush(ctx)
	}
	return cl.release(ctx, u)
}

// end ends the consumer. Deliveries that it has polled and not settled come again.
func (c *consumer) end() {
	c.gone, c.wake = true, func() {}
	u := c.unit
	u.shut()
	for _, f := range u.flights.all {
		if f.consumer == c && !f.ended {
			f.known = false
			u.again(f)
		}
	}
	u.flights.sweep()
	if u.consumer == c {
		u.consumer = nil
	}
}

// again makes what was polled come again.
func (rd *reading) again(f *flight) {
	seq := f.record.Seq
	if r := rd.sub.rows[seq]; r != nil {
		rd.back++
		rd.queueRow(r)
	} else if seq < rd.nextOf(f.slot()) {
		rd.putBack(reopened{seq, f.slot()})
	}
	rd.touch(f.slot(), false)
}

// Notify implements [engine.Source].
func (c *consumer) Notify(wake func(), heeds func() bool) {
	c.unit.in.mu.Lock()
	c.heeds = heeds
	if !c.gone {
		c.wake = wake
	}
	c.unit.in.mu.Unlock()
	wake()
}

// Poll implements [engine.Source].
func (c *consumer) Poll(dst []*engine.Delivery, limit int) (_ []*engine.Delivery, more bool, err error) {
	u, h := c.unit, c.unit.in
	h.stream.Polling()
	if err := h.enter(); err != nil {
		return dst, false, err
	}
	defer h.mu.Unlock()
	c.calls++
	u.hungry = true
	if u.moved && !c.gone {
		u.moved = false
		return dst, true, engine.ErrMoved
	}
	if c.gone {
		return dst, false, nil
	}
	if u.polled = true; !u.owns() {
		return dst, false, nil
	}
	if u.returning > 0 {
		return dst, false, nil // they come first, and then the consumer is woken
	}
	full, back := len(dst)+limit, u.back
	for len(dst) < full {
		at := slices.IndexFunc(u.reopen, func(one reopened) bool { return u.hands(one.slot) })
		if at < 0 {
			break
		}
		seq, slot := u.reopen[at].seq, u.reopen[at].slot
		var err error
		if dst, err = c.pollRows(dst, full, seq); len(dst) == full || err != nil || !u.same(c, back) {
			return dst, true, h.storage("read", err)
		}
		r, err := h.event(context.Background(), seq)
		if err != nil && !errors.Is(err, stream.ErrNotFound) {
			return dst, true, h.storage("read", err)
		}
		at, still := slices.BinarySearchFunc(u.reopen, seq, compareReopened)
		if !u.same(c, back) || !u.hands(slot) || !still { // it has changed while the server was asked
			return dst, true, nil
		}
		if u.reopen = slices.Delete(u.reopen, at, at+1); err == nil && u.sub.rows[seq] == nil && u.flights.of(seq) == nil {
			dst = append(dst, c.handOut(r, nil, slotOf(r)))
		} else {
			u.touch(slot, false)
		}
	}
	dst, err = c.pollRows(dst, full, 0)
	if err != nil || !u.same(c, back) {
		return dst, true, h.storage("read", err)
	}
	if u.starving() {
		u.hungry = false // it is woken when something is stored
		u.openShortcut()
		return dst, len(dst) == full, nil
	}
	passed, handed := false, len(dst)
	for len(dst) < full && u.next <= h.applied && !c.gone && u.owns() && !u.moved {
		events, slots, until, err := h.eventsAhead(u.next)
		if err != nil {
			return dst, true, h.storage("read", err)
		}
		if !u.same(c, back) {
			break
		}
		var like struct { // what is known of the type of the last event: many of the same come after each other
			name, here string
			routed     bool
		}
		for i, r := range events {
			if len(dst) == full {
				until = 0
				break
			}
			if r.Seq < u.next {
				continue
			}
			if r.Type != like.name || i == 0 {
				like.name, like.here, like.routed = r.Type, h.here[r.Type], u.sub.routes[r.Type]
			}
			slot := 0
			if slots != nil {
				slot = int(slots[i])
			} else {
				slot = slotOf(r)
			}
			mine := u.isNext(r, slot)
			u.next, passed = r.Seq+1, true
			switch {
			case !mine || r.Seq <= u.sub.Start || !(like.routed && r.Origin == nil) && !u.sub.matches(r) || u.sub.rows[r.Seq] != nil || u.flights.of(r.Seq) != nil:
			case !r.Due.IsZero() && dueOf(r).After(h.clock.now()):
				u.delay(r)
			default:
				dst = append(dst, c.handOutAs(r, nil, slot, like.here))
			}
		}
		if until >= u.next {
			u.next, passed = until+1, true
		}
	}
	if passed && len(dst) == handed { // else the next cursor is written when they end
		u.changed(false)
	}
	more = len(dst) == full || u.next <= h.applied
	u.hungry = !more
	u.openShortcut()
	return dst, more, nil
}

// Express implements [engine.Source]. Events come in the order of the log.
func (c *consumer) Express() (critical, high bool) { return false, false }

// PollExpress implements [engine.Source].
func (c *consumer) PollExpress(dst []*engine.Delivery, _, _ int) ([]*engine.Delivery, error) {
	return dst, nil
}

// Reread implements [engine.Source]. The log knows the view of this process, which follows the servers.
func (c *consumer) Reread() (soon bool) {
	h := c.unit.in
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(c.unit.sub.due) == 0 {
		return false
	}
	late := h.clock.now().Sub(c.unit.sub.due[0].due)
	return late >= 0 && late < time.Second
}

// isNext reports whether an event is this process's, and was not looked at.
func (rd *reading) isNext(r *engine.Record, slot int) bool {
	return rd.hands(slot) && r.Seq >= rd.nextOf(slot)
}

// PollEvent implements [engine.Source].
func (c *consumer) PollEvent(seq int64) (*engine.Delivery, time.Time, error) {
	u, h := c.unit, c.unit.in
	if err := h.enter(); err != nil {
		return nil, time.Time{}, err
	}
	defer h.mu.Unlock()
	c.calls++
	if u.moved && !c.gone {
		u.moved = false
		return nil, time.Time{}, engine.ErrMoved
	}
	u.shut()
	r, now := u.sub.rows[seq], time.Now()
	switch {
	case c.gone || !u.owns() || r != nil && !u.hands(r.slot()):
		return nil, time.Time{}, nil
	case u.flights.of(seq) != nil:
		switch f := u.flights.of(seq); {
		case f.delayed:
			return nil, h.clock.at(dueOf(f.record)), nil
		case f.ended: // and soon stored
			return nil, now.Add(flushDelay), nil
		}
		return nil, time.Time{}, nil
	case r == nil && seq >= u.next:
		return c.pollAhead(seq)
	case r == nil || !r.State.Open():
		return nil, time.Time{}, nil
	case r.forPause() && h.typePaused(r.Type):
		return nil, now, nil
	case (r.State == ledger.Waiting || r.forVersion()) && r.Due.After(h.clock.now()):
		return nil, h.clock.at(r.Due), nil
	}
	whole, err := h.wholeRow(u.sub, seq)
	switch {
	case err != nil:
		return nil, time.Time{}, h.storage("read", err)
	case whole == nil || c.gone || !u.hands(r.slot()) || u.flights.of(seq) != nil || u.sub.rows[seq] != r: // it has changed meanwhile
		return nil, time.Now(), nil
	}
	return c.handOut(whole.record(), whole, whole.slot()), time.Time{}, nil
}

// pollAhead is PollEvent for an event that the consumer has not come to. It is handed out if it is delayed and due. It
// gives mu back while the server is asked.
func (c *consumer) pollAhead(seq int64) (*engine.Delivery, time.Time, error) {
	u, h := c.unit, c.unit.in
	r, err := h.event(context.Background(), seq)
	switch {
	case errors.Is(err, stream.ErrNotFound):
		return nil, time.Time{}, nil
	case err != nil:
		return nil, time.Time{}, h.storage("read", err)
	case c.gone || u.flights.of(seq) != nil || u.sub.rows[seq] != nil:
		return nil, time.Now(), nil // it has changed meanwhile
	case !u.hands(slotOf(r)):
		return nil, time.Time{}, nil
	case !u.isNext(r, slotOf(r)):
		return nil, time.Now(), nil
	case r.Due.IsZero() || !u.sub.matches(r):
		return nil, time.Time{}, nil
	case dueOf(r).After(h.clock.now()):
		return nil, h.clock.at(r.Due), nil
	}
	d := c.handOut(r, nil, slotOf(r))
	u.flights.of(seq).ahead = true
	return d, time.Time{}, nil
}

// handOut notes that a delivery is polled.
func (c *consumer) handOut(r *engine.Record, row *row, slot int) *engine.Delivery {
	return c.handOutAs(r, row, slot, c.unit.in.here[r.Type])
}

// handOutAs is handOut for an event of a type that this process gives a name.
func (c *consumer) handOutAs(r *engine.Record, row *row, slot int, name string) *engine.Delivery {
	f := c.newFlight()
	f.record, f.in, f.consumer, f.row = r, uint8(slot), c, row
	c.fill(&f.delivery, r, row, name)
	f.delivery.Token = f
	c.unit.flights.add(f)
	return &f.delivery
}

// flightsAtOnce is how many flights are allocated together: as many as fit into 4 KiB, which is what
// the memory of more would be rounded up to. They are never used again: a handler may keep its
// delivery for as long as it likes.
const flightsAtOnce = 20

func (c *consumer) newFlight() *flight {
	if len(c.fresh) == 0 {
		c.fresh = make([]flight, flightsAtOnce)
	}
	f := &c.fresh[0]
	c.fresh = c.fresh[1:]
	return f
}

// deliveryOf returns a delivery as this process sees it.
func (c *consumer) deliveryOf(r *engine.Record, row *row) *engine.Delivery {
	d := &engine.Delivery{}
	c.fill(d, r, row, c.unit.in.here[r.Type])
	return d
}

func (c *consumer) fill(d *engine.Delivery, r *engine.Record, row *row, name string) {
	here := r
	if name != "" && name != r.Type {
		renamed := *r
		renamed.Type = name
		here = &renamed
	}
	d.Record = here
	switch {
	case row != nil:
		row.HandOut(d)
	case r.Due.IsZero():
		d.Since = r.CreatedAt
	default:
		d.Since, d.Exempt = r.Due, true
	}
}
