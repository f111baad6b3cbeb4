package memory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
)

// subscription is a durable consumer.
type subscription struct {
	name    string
	former  []string // names it had before
	pattern string
	routes  map[string]bool // the types it gets, by the name under which they are published
	start   int64           // it gets events with a greater seq
	next    int64           // the seq that is polled next

	// deliveries are those that were polled or put off, and those that have left a
	// trace: a failed attempt, a reason. What went well at once is forgotten.
	deliveries map[int64]*delivery
}

// delivery is one event for one subscription.
type delivery struct {
	*engine.Record
	ledger.Row
	attempts []engine.FailedAttempt
	by       *consumer // that has polled it and not settled it; nil for nobody
	started  time.Time // of the attempt that runs; zero before it
}

// waits reports whether a delivery comes by itself when it is due.
func (d *delivery) waits() bool {
	return d.by == nil && (d.State == ledger.Waiting || d.State == ledger.Held && !d.HeldSince.IsZero())
}

// lastKind returns how the last attempt has failed; empty for none.
func (d *delivery) lastKind() string {
	if n := len(d.attempts); n > 0 {
		return d.attempts[n-1].Kind
	}
	return ""
}

// add makes a delivery that waits.
func (sub *subscription) add(r *engine.Record) *delivery {
	d := &delivery{Record: r, Row: ledger.Fresh(r)}
	sub.deliveries[r.Seq] = d
	return d
}

// passes reports whether an event has yet to become a delivery.
func (sub *subscription) passes(r *engine.Record) bool {
	return r.Seq >= sub.next && r.Due.IsZero() && sub.deliveries[r.Seq] == nil
}

// consumer is a subscription of a log. It implements [engine.Consumer].
type consumer struct {
	log   *Log
	sub   *subscription
	name  string // that this process knows
	wake  func()
	timer *time.Timer // wakes when the next delivery is due
	gone  bool        // another consumer has taken its place, or the log is closed
}

// Consumer implements [engine.Dispatcher].
func (l *Log) Consumer(_ context.Context, spec engine.ConsumerSpec) (engine.Consumer, error) {
	if err := l.enter(); err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	if err := l.declareConsumers([]engine.ConsumerSpec{spec}); err != nil {
		return nil, err
	}
	c := &consumer{log: l, sub: l.known(spec.Name), name: spec.Name, wake: func() {}}
	c.timer = time.AfterFunc(time.Hour, c.ring)
	c.timer.Stop()
	l.consumers = slices.DeleteFunc(l.consumers, func(other *consumer) bool {
		if other.name == c.name {
			other.stop()
		}
		return other.name == c.name
	})
	l.consumers = append(l.consumers, c)
	for _, d := range c.sub.deliveries {
		d.Row = d.TakenOver()
	}
	return c, nil
}

// stop ends the consumer. What it has polled and not settled is due again.
func (c *consumer) stop() {
	c.gone, c.wake = true, func() {}
	c.timer.Stop()
	for _, d := range c.sub.deliveries {
		if d.by == c {
			if d.by = nil; !d.started.IsZero() {
				d.Row, d.started = d.Unclaimed(), time.Time{}
			}
		}
	}
}

// ring wakes whoever polls, when a delivery is due.
func (c *consumer) ring() {
	c.log.mu.Lock()
	wake := c.wake
	c.log.mu.Unlock()
	wake()
}

// Notify implements [engine.Source].
func (c *consumer) Notify(wake func()) {
	c.log.mu.Lock()
	if !c.gone {
		c.wake = wake
	}
	c.log.mu.Unlock()
	wake()
}

// Poll implements [engine.Source].
func (c *consumer) Poll(dst []*engine.Delivery, limit int) (_ []*engine.Delivery, more bool, err error) {
	if err := c.log.enter(); err != nil {
		return dst, false, err
	}
	defer c.log.mu.Unlock()
	if c.gone {
		return dst, false, nil
	}
	now, room, from := time.Now(), limit, c.sub.next
	for _, d := range c.sub.waiting() {
		if d.Row.Due.After(now) {
			c.timer.Reset(d.Row.Due.Sub(now))
			break
		}
		if room == 0 {
			return dst, true, nil
		}
		dst = append(dst, c.handOut(d))
		room--
	}
	for ; room > 0 && c.sub.next <= c.log.last; c.sub.next++ {
		if r := c.log.events[c.sub.next]; r != nil && c.sub.routes[r.Type] && c.sub.passes(r) {
			dst = append(dst, c.handOut(c.sub.add(r)))
			room--
		}
	}
	if room == limit && c.sub.next > from {
		c.log.noteSettled() // none of these events was for the subscription
	}
	return dst, c.sub.next <= c.log.last, nil
}

// Reread implements [engine.Source]. What the log knows is all there is.
func (c *consumer) Reread() (soon bool) { return false }

// PollEvent implements [engine.Source].
func (c *consumer) PollEvent(seq int64) (*engine.Delivery, time.Time, error) {
	if err := c.log.enter(); err != nil {
		return nil, time.Time{}, err
	}
	defer c.log.mu.Unlock()
	d, now := c.sub.deliveries[seq], time.Now()
	switch {
	case c.gone || d == nil || d.by != nil || !d.State.Open():
		return nil, time.Time{}, nil
	case !d.waits():
		return nil, now, nil
	case d.Row.Due.After(now):
		return nil, d.Row.Due, nil
	}
	return c.handOut(d), time.Time{}, nil
}

// waiting returns the deliveries that wait, in the order in which they are due.
func (sub *subscription) waiting() (all []*delivery) {
	for _, d := range sub.deliveries {
		if d.waits() {
			all = append(all, d)
		}
	}
	slices.SortFunc(all, func(a, b *delivery) int { return cmp.Or(a.Row.Due.Compare(b.Row.Due), cmp.Compare(a.Seq, b.Seq)) })
	return all
}

// handOut marks a delivery as polled.
func (c *consumer) handOut(d *delivery) *engine.Delivery {
	d.by, d.started = c, time.Time{}
	return c.copyOf(d)
}

// copyOf returns a delivery as this process sees it.
func (c *consumer) copyOf(d *delivery) *engine.Delivery {
	record := *d.Record
	record.Type = c.log.here[record.Type]
	out := &engine.Delivery{Record: &record, Token: c}
	d.HandOut(out)
	return out
}

// Failing implements [engine.Source].
func (c *consumer) Failing(after int64, limit int) (failing []*engine.Delivery, err error) {
	if err := c.log.enter(); err != nil {
		return nil, err
	}
	defer c.log.mu.Unlock()
	for _, d := range c.sub.deliveries {
		if d.Seq > after && d.Failing() {
			failing = append(failing, c.copyOf(d))
		}
	}
	slices.SortFunc(failing, func(a, b *engine.Delivery) int { return cmp.Compare(a.Seq, b.Seq) })
	return failing[:min(limit, len(failing))], nil
}

// Cancelled implements [engine.Source].
func (c *consumer) Cancelled(seq int64) (reason string, ok bool) {
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	if d := c.sub.deliveries[seq]; d != nil && d.Cancelled {
		return d.Reason, true
	}
	return "", false
}

// Prepare implements [engine.Settler]. A claim that does not survive the process has
// nobody to read it.
func (c *consumer) Prepare(*engine.Delivery) {}

// Begin implements [engine.Settler].
func (c *consumer) Begin(d *engine.Delivery, _ int, started time.Time) (begun time.Time, cancelled bool) {
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	own := c.own(d)
	if own == nil || own.Cancelled {
		return time.Time{}, own != nil
	}
	own.started = started
	return started, false
}

// BeginAll implements [engine.Settler].
func (c *consumer) BeginAll(all []*engine.Delivery, workers []int, started time.Time) (n int, begun time.Time) {
	for n < len(all) {
		if at, _ := c.Begin(all[n], workers[n], started); at.IsZero() {
			break
		}
		n++
	}
	return n, started
}

// SetWaiting implements [engine.Settler], and does as little as Prepare.
func (c *consumer) SetWaiting(*engine.Delivery, bool) {}

// End implements [engine.Settler].
func (c *consumer) End(*engine.Delivery) {}

// EndAll implements [engine.Settler].
func (c *consumer) EndAll([]*engine.Delivery) {}

// own returns a delivery that this consumer has polled and not settled, or nil.
func (c *consumer) own(d *engine.Delivery) *delivery {
	if own := c.sub.deliveries[d.Seq]; !c.gone && own != nil && own.by == c {
		return own
	}
	return nil
}

// Settle implements [engine.Settler].
func (c *consumer) Settle(d *engine.Delivery, v engine.Disposition) {
	c.log.store.mu.Lock()
	defer c.log.store.mu.Unlock()
	c.settle(d, v)
}

// SettleAll implements [engine.Settler].
func (c *consumer) SettleAll(all []engine.Settled) {
	c.log.store.mu.Lock()
	defer c.log.store.mu.Unlock()
	for _, one := range all {
		c.settle(one.Delivery, one.Disposition)
	}
}

// settle is Settle for who holds the store's mu.
func (c *consumer) settle(d *engine.Delivery, v engine.Disposition) {
	s := c.log.store
	own := c.own(d)
	if own == nil {
		return
	}
	now := ledger.Moment{At: time.Now(), Due: v.Due, Paused: v.Kind == engine.Hold && s.typePaused(own.Type)}
	row, effects := own.After(!own.started.IsZero(), &v, now)
	own.Row, own.by, own.started = row, nil, time.Time{}
	if effects.Attempt != nil {
		own.attempts = append(own.attempts, *effects.Attempt)
	}
	if effects.NoNotice {
		v.Staged = slices.DeleteFunc(slices.Clone(v.Staged), func(r engine.Record) bool { return r.IfWanted })
	}
	s.insert(s.keep(v.Staged))
	switch {
	case own.State == ledger.Done && len(own.attempts) == 0:
		delete(c.sub.deliveries, d.Seq)
	case own.State.Open():
		c.wake()
	}
	s.noteSettled()
}

// noteSettled wakes those who wait for deliveries to be settled.
func (s *store) noteSettled() {
	close(s.settled)
	s.settled = make(chan struct{})
}
