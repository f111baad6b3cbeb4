package dispatch

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/dispatch/errs"
	"github.com/busgen/busgen/runtime/internal/lockorder"
)

// Deadlines are watched for all workers of a subscription together: an attempt
// that ends in time, as nearly all do, costs no timer. The alarm stands at the
// earliest deadline that was known when it was set; when it goes off it ends
// what is late and is set again.

// deadlines has the attempts of a subscription that run, and watches their deadlines. Its place among
// the locks is in package lockorder.
type deadlines struct {
	cfg     *Config
	looking atomic.Int32 // how many look at the attempts that run

	// Guarded by mu, but for the slots themselves, and what the alarm covers.
	mu      lockorder.Mutex[lockorder.Deadlines]
	running []*slot  // by worker, with batches by number of the attempt
	batches []*Batch // that run
	slots   []int    // of running, that no batch has
	slotted int      // how many slots there are
	alarm   alarm
}

func newDeadlines(cfg *Config) *deadlines {
	d := &deadlines{cfg: cfg}
	d.alarm.began, d.alarm.ring = time.Now(), d.expire
	d.alarm.unset()
	return d
}

// slot returns where the attempt of a worker is found.
func (d *deadlines) slot(worker int) *slot {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.makeSlots(worker + 1)
	return d.running[worker]
}

// makeSlots makes so many slots, unless there are. The caller holds mu.
func (d *deadlines) makeSlots(n int) {
	for len(d.running) < n {
		d.running = append(d.running, new(slot))
	}
}

// all returns the attempts that run, those of batches one by one.
func (d *deadlines) all() (running []*Attempt) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, slot := range d.running {
		if a := slot.Load(); a != nil {
			running = append(running, a)
		}
	}
	return running
}

// setAlarm makes the alarm go off when an attempt needs attention, if it runs.
func (d *deadlines) setAlarm(a *Attempt) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.running[a.worker].Load() == a {
		d.alarm.set(a.alarmAt())
	}
}

// stop ends the watch.
func (d *deadlines) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.alarm.stop()
}

// alarm is a timer that remembers when it goes off. It is guarded by the mu of its deadlines, but for covers.
type alarm struct {
	ring  func()
	timer *time.Timer
	began time.Time
	at    atomic.Int64 // since began; unlimited while it is not set
}

// covers reports whether the alarm goes off at the given time, or before. It does for the zero time.
func (a *alarm) covers(at time.Time) bool {
	return at.IsZero() || int64(at.Sub(a.began)) >= a.at.Load()
}

func (a *alarm) unset() { a.at.Store(int64(unlimited)) }

// set makes the alarm go off at the given time, if it would not do so before. It ignores the
// zero time.
func (a *alarm) set(at time.Time) {
	if a.covers(at) {
		return
	}
	a.at.Store(int64(at.Sub(a.began)))
	if a.timer == nil {
		a.timer = time.AfterFunc(time.Until(at), a.ring)
	} else {
		a.timer.Reset(time.Until(at))
	}
}

func (a *alarm) stop() {
	if a.timer != nil {
		a.timer.Stop()
	}
}

// watch makes sure that the attempt ends at its deadline. Nearly always the alarm goes off before: then either it
// finds the attempt, or watch finds that it has gone off.
func (d *deadlines) watch(w *worker, a *Attempt) {
	at := a.alarmAt()
	w.slot.Store(a)
	if d.alarm.covers(at) {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.alarm.set(at)
}

// alarmAt returns when the attempt needs attention next, or the zero time. The caller holds
// the mu of the deadlines.
func (a *Attempt) alarmAt() time.Time {
	at := a.slowAt()
	if a.warned {
		at = a.deadline()
	}
	if after := a.settings.SlowEventAfter; !at.IsZero() && (after == 0 || a.Since.Add(after).After(at)) {
		return at
	}
	if slow := a.slowEventAt(); at.IsZero() || !slow.IsZero() && slow.Before(at) {
		return slow
	}
	return at
}

// slowEventAt returns when the event becomes slow although nothing has failed, or the zero time: it is slow before the
// attempt begins, or the attempt is over by then.
func (a *Attempt) slowEventAt() time.Time {
	after := a.settings.SlowEventAfter
	if after == 0 || a.delays {
		return time.Time{}
	}
	left := after - a.started.Sub(a.Since)
	if limit, _ := a.bounds(); left <= 0 || left >= limit {
		return time.Time{}
	}
	return a.started.Add(left)
}

// slowAt returns when the log says that the handler is slow, or the zero time.
func (a *Attempt) slowAt() time.Time {
	if a.warned {
		return time.Time{}
	}
	working := a.working()
	if working.IsZero() {
		return working // its transaction waits, which is not the handler's doing
	}
	return working.Add(a.settings.SlowAfter)
}

// SlowEventAfter returns after how long its event is slow; 0 for never.
func (a *Attempt) SlowEventAfter() time.Duration { return a.settings.SlowEventAfter }

// watchBatch makes sure that the batch ends at its deadline.
func (d *deadlines) watchBatch(b *Batch) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.batches = append(d.batches, b)
	d.alarm.set(b.whole.alarmAt())
	for _, a := range b.begun {
		if d.running[a.worker].Store(a); a.expires {
			d.alarm.set(a.deadline())
		}
	}
}

// unwatchBatch forgets the batch.
func (d *deadlines) unwatchBatch(b *Batch) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.batches = slices.DeleteFunc(d.batches, func(other *Batch) bool { return other == b })
	for _, a := range b.begun {
		d.running[a.worker].Store(nil)
	}
}

// takeSlots returns numbers for attempts that run at once, under which they are claimed. No
// other attempt of the subscription has them until freeSlots.
func (d *deadlines) takeSlots(n int) []int {
	d.mu.Lock()
	defer d.mu.Unlock()
	slots := make([]int, 0, n)
	for len(slots) < n && len(d.slots) > 0 {
		last := len(d.slots) - 1
		slots = append(slots, d.slots[last])
		d.slots = d.slots[:last]
	}
	for len(slots) < n {
		slots = append(slots, d.slotted)
		d.slotted++
	}
	d.makeSlots(d.slotted)
	return slots
}

func (d *deadlines) freeSlots(slots []int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.slots = append(d.slots, slots...)
}

// expire ends the attempts whose deadline has passed, warns of those that are
// slow, and sets the alarm to what comes next.
func (d *deadlines) expire() {
	defer d.look()()
	now := time.Now()
	var late, slow, delaying []*Attempt
	d.mu.Lock()
	d.alarm.unset() // before the slots are read
	look := func(a *Attempt) {
		if a.late(now) {
			late = append(late, a)
			return
		}
		if at := a.slowAt(); !at.IsZero() && !at.After(now) {
			a.warned = true
			slow = append(slow, a)
		}
		if at := a.slowEventAt(); !at.IsZero() && !at.After(now) {
			a.delays = true
			delaying = append(delaying, a)
		}
		d.alarm.set(a.alarmAt())
	}
	for _, slot := range d.running {
		if a := slot.Load(); a != nil && (a.batch == nil || a.expires) { // else its batch has the deadline
			look(a)
		}
	}
	for _, b := range d.batches {
		look(&b.whole)
	}
	d.mu.Unlock()
	for _, a := range slow {
		attributes := []any{"running", a.settings.SlowAfter, "timeout", timeoutText(a.settings.Timeout)}
		if a.batch != nil {
			attributes = append(attributes, "batch", len(a.batch.begun))
		}
		d.cfg.Logger.Warn("a handler is slow", a.logged(attributes...)...)
		if tell := a.handler.Count.Slow(a, now.Sub(a.started)); tell != nil {
			go tell() // the alarm does not wait for observers
		}
	}
	for _, a := range delaying {
		if tell := a.handler.Count.SlowEvent(a, now.Sub(a.Since), now.Sub(a.started)); tell != nil {
			go tell()
		}
	}
	for _, a := range late {
		if a.isExpired() {
			continue // and its worker left behind, perhaps long ago
		}
		done := d.look()
		go func() { // nor for each other
			defer done()
			a.expire()
		}()
	}
}

// timeoutText is what the log says about a timeout.
func timeoutText(d time.Duration) any {
	if d == 0 {
		return "off"
	}
	return d
}

// look is called before the attempts that run are looked for, and what it returns when they are not needed any
// more: until then their memory is not used again.
func (d *deadlines) look() (done func()) {
	d.looking.Add(1)
	return func() { d.looking.Add(-1) }
}

// appendRunning appends the attempts that have been running for at least so long, those included that were left behind.
// A batch is one, with its first event.
func (d *deadlines) appendRunning(all []event.Running, now time.Time, long time.Duration, left []bool) []event.Running {
	group := ""
	if d.cfg.Group {
		group = d.cfg.Name
	}
	defer d.look()()
	d.mu.Lock()
	defer d.mu.Unlock()
	add := func(a *Attempt) {
		if now.Sub(a.started) < long {
			return
		}
		worker := int(a.worker)
		all = append(all, event.Running{
			Subscription: a.handler.Name, Group: group, Worker: worker, Event: a.ID, Type: a.Type, Attempt: a.Number,
			Started: a.started, Deadline: a.deadline(), Abandoned: worker < len(left) && left[worker],
			Limits: a.Limits().Places(),
		})
	}
	for _, slot := range d.running {
		if a := slot.Load(); a != nil && a.batch == nil {
			add(a)
		}
	}
	for _, b := range d.batches {
		add(&b.whole)
	}
	return all
}

// The transaction of a handler waits for its turn: for others that write, and for locks of other
// processes. That says nothing about the handler. So no deadline ends the attempt meanwhile, and with
// its turn the handler, or what it has left to be done, has the whole timeout.

// turn is what replaces the limit of an attempt whose transaction waits, or has its turn.
type turn struct {
	limit   time.Duration // from the start of the attempt
	expires bool
	begun   time.Duration // when it had its turn, from the start of the attempt; unlimited while it waits
}

// bounds returns how long the attempt may take, and whether that is because its event expires then.
func (a *Attempt) bounds() (limit time.Duration, expires bool) {
	if t := a.waited(); t != nil {
		return t.limit, t.expires
	}
	return a.limit, a.expires
}

// working returns since when the handler, or what it has left, is at work; the zero time while it waits.
func (a *Attempt) working() time.Time {
	switch t := a.waited(); {
	case t == nil:
		return a.started
	case t.begun == unlimited:
		return time.Time{}
	default:
		return a.started.Add(t.begun)
	}
}

// Queue says that the transaction of the attempt begins to wait for its turn, and returns the
// context for that: it ends with the bus. The error says that the attempt is over.
func (a *Attempt) Queue() (context.Context, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over || a.late(time.Now()) {
		return nil, errs.ErrOver
	}
	a.extras().turn.Store(&turn{limit: unlimited, begun: unlimited})
	return a.run.site.base, nil
}

// Turn says that the transaction has its turn; the context of the attempt ends after its timeout
// from now, or with its event. handled says that the handler has returned, and only what it has
// left is still to be done. The error says that nothing is to be done any more.
func (a *Attempt) Turn(handled bool) error {
	if err := a.takeTurn(time.Now(), handled); err != nil {
		return err
	}
	a.run.site.deadlines.setAlarm(a)
	return nil
}

func (a *Attempt) takeTurn(now time.Time, handled bool) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	waited := now.Sub(a.started)
	t := &turn{limit: unlimited, begun: waited}
	if timeout := cmp.Or(a.settings.Timeout, unlimited); timeout < unlimited-waited {
		t.limit = waited + timeout
	}
	if after := a.run.settings.ExpiresAfter; after > 0 && !handled {
		if left := min(after, after-a.started.Sub(a.Since)); left < t.limit {
			t.limit, t.expires = left, true
		}
	}
	a.extras().turn.Store(t)
	a.renew()
	switch {
	case a.over || a.late(now):
		return errs.ErrOver
	case a.interrupted() != nil:
		return fmt.Errorf("%w: %w", context.Canceled, a.interrupted())
	}
	return nil
}

// renew makes the attempt forget its context, which ended too early. What the handler has made of
// it stays as it is until the attempt ends. The caller holds mu.
func (a *Attempt) renew() {
	x := a.extras()
	real := &x.real
	if real.cancel == nil {
		return
	}
	before, cancel := real.former, real.cancel
	var cut context.CancelCauseFunc
	if x.interruption != nil {
		cut, x.interruption.cut = x.interruption.cut, nil
	}
	real.ctx, real.cancel = nil, nil
	real.former = func() {
		if before != nil {
			before()
		}
		cancel()
		if cut != nil {
			cut(nil)
		}
	}
}
