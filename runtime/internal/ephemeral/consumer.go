// Package ephemeral makes a consumer of a watch: the engine's side of a subscription that
// has no name in the log and ends with the process.
//
// Each [Consumer] reads the log from where its subscription began. Deliveries that have
// to come again (retries, snoozes, delayed events) are in memory, and bounded: while
// PutOffLimit deliveries wait to be tried again nothing is read, so the subscription lags
// behind. It writes nothing, and only its dispatcher knows of its deliveries.
package ephemeral

import (
	"container/heap"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
)

const (
	// PutOffLimit is how many failed or snoozed deliveries may wait before reading pauses.
	PutOffLimit = 1024
	// DelayedLimit is how many delayed events wait until they are due. Of more, the one
	// that is due last is dropped.
	DelayedLimit = 1024
	// wallLook is how often the wall clock is asked for events that are due by it.
	wallLook = time.Minute
)

// Consumer implements [engine.Consumer].
type Consumer struct {
	watch  engine.Watch
	name   string
	logger *slog.Logger

	reading sync.Mutex // held while the watch is read; taken before mu
	missed  int64      // events that were pruned before they were read, since it last reached the end of the log; guarded by reading

	mu      sync.Mutex
	wake    func()
	closed  bool
	full    bool // reading has paused, because too much waits
	warned  bool // that delayed events are dropped
	again   queue
	delayed queue
	timer   *time.Timer // wakes when one of them is due
}

// delivery is an engine.Delivery with what the consumer knows about it.
type delivery struct {
	engine.Delivery
	again   *again // nil for one that was not put off
	begun   bool
	settled bool
}

// again is what is kept of a delivery that has to come again.
type again struct {
	ledger.Delivery
	due time.Time // zero for at once
}

// due returns when a delivery comes.
func (d *delivery) due() time.Time {
	if d.again != nil {
		return d.again.due
	}
	return d.Due
}

// known returns what is known of a delivery.
func (d *delivery) known() ledger.Delivery {
	if d.again != nil {
		return d.again.Delivery
	}
	return ledger.New(d.Record)
}

// New returns a consumer of a watch, which it closes when it is closed.
func New(watch engine.Watch, name string, logger *slog.Logger) *Consumer {
	c := &Consumer{watch: watch, name: name, logger: logger, wake: func() {}}
	c.timer = time.AfterFunc(time.Hour, c.ring)
	c.timer.Stop()
	return c
}

// Close ends the consumer: it hands nothing out any more.
func (c *Consumer) Close() {
	c.reading.Lock() // no read of the watch is under way
	defer c.reading.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.closed, c.wake, c.again, c.delayed = true, func() {}, nil, nil
	c.timer.Stop()
	c.watch.Close()
}

// ring wakes the dispatcher that polls.
func (c *Consumer) ring() {
	c.mu.Lock()
	wake := c.wake
	c.mu.Unlock()
	wake()
}

// Notify implements [engine.Source].
func (c *Consumer) Notify(wake func(), _ func() bool) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return
	}
	c.wake = wake
	c.mu.Unlock()
	c.watch.Notify(wake)
}

// Poll implements [engine.Source].
func (c *Consumer) Poll(dst []*engine.Delivery, limit int) (_ []*engine.Delivery, more bool, err error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	before := len(dst)
	dst = c.pollDue(dst, limit)
	for {
		room := c.room(limit - (len(dst) - before))
		if room == 0 { // for more deliveries; or for those that are put off, and then the end of one wakes the caller
			return dst, len(dst)-before == limit, nil
		}
		records, passed, err := c.watch.Read(context.Background(), room)
		c.notePruned(passed, err == nil && len(records) == 0)
		if errors.Is(err, engine.ErrRestored) || errors.Is(err, engine.ErrClosed) {
			return dst[:before], false, nil // the bus begins anew, or ends
		}
		if err != nil {
			return dst, true, err
		}
		if len(records) == 0 {
			return dst, false, nil
		}
		for _, r := range records {
			if d := c.take(r); d != nil {
				dst = append(dst, &d.Delivery)
			}
		}
	}
}

// notePruned says that events are missing because they were pruned before they were read:
// once when it happens, and how many they were when the end of the log is reached. The
// caller holds reading.
func (c *Consumer) notePruned(missed int64, atEnd bool) {
	if missed > 0 && c.missed == 0 {
		c.logger.Warn("an ephemeral subscription is so slow that events were pruned before it has read them; it passes over them",
			"subscription_id", c.name, "events", missed)
	}
	if c.missed += missed; atEnd && c.missed > 0 {
		c.logger.Info("an ephemeral subscription has passed over pruned events, and is at the end of the log again",
			"subscription_id", c.name, "events", c.missed)
		c.missed = 0
	}
}

// Express implements [engine.Source]. An ephemeral subscription has no backlog but that in memory.
func (c *Consumer) Express() (critical, high bool) { return false, false }

// PollExpress implements [engine.Source].
func (c *Consumer) PollExpress(dst []*engine.Delivery, _, _ int) ([]*engine.Delivery, error) {
	return dst, nil
}

// Reread implements [engine.Source]. The watch reads the log each time.
func (c *Consumer) Reread() (soon bool) { return false }

// pollDue hands out what is due.
func (c *Consumer) pollDue(dst []*engine.Delivery, limit int) []*engine.Delivery {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	for _, q := range []*queue{&c.again, &c.delayed} {
		for len(*q) > 0 && limit > 0 && !(*q)[0].due().After(now) {
			d := heap.Pop(q).(*delivery)
			d.begun, d.settled = false, false
			dst = append(dst, &d.Delivery)
			limit--
		}
	}
	c.arm()
	return dst
}

// arm sets the timer. The caller holds mu.
func (c *Consumer) arm() {
	wait := time.Duration(-1)
	if len(c.again) > 0 {
		wait = time.Until(c.again[0].due())
	}
	if len(c.delayed) > 0 { // by the wall clock, which may be set
		if until := min(time.Until(c.delayed[0].due()), wallLook); wait < 0 || until < wait {
			wait = until
		}
	}
	if len(c.again)+len(c.delayed) > 0 {
		c.timer.Reset(max(wait, 0))
	}
}

// room returns how many events may be read, of those that there is room for.
func (c *Consumer) room(limit int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	room := min(limit, PutOffLimit-len(c.again))
	if c.full = room < limit; c.closed || room <= 0 {
		return 0
	}
	return room
}

// take makes an event a delivery. It returns nil for one that is not yet due.
func (c *Consumer) take(r *engine.Record) *delivery {
	d := &delivery{Delivery: engine.Delivery{Record: r, Since: r.CreatedAt}}
	d.Token = d
	if r.Due.IsZero() {
		return d
	}
	d.Since = r.Due
	c.mu.Lock()
	defer c.mu.Unlock()
	if !r.Due.After(time.Now()) {
		return d
	}
	heap.Push(&c.delayed, d)
	if len(c.delayed) > DelayedLimit {
		last := c.delayed.last()
		dropped := heap.Remove(&c.delayed, last).(*delivery)
		if !c.warned {
			c.warned = true
			c.logger.Warn("an ephemeral subscription drops delayed events, those that are due last; this is logged once",
				"subscription_id", c.name, "waiting", DelayedLimit, "event_id", dropped.ID, "due", dropped.Due)
		}
	}
	c.arm()
	return nil
}

// PollEvent implements [engine.Source]. No publisher waits for these deliveries, so none
// is taken out of turn.
func (c *Consumer) PollEvent(int64) (*engine.Delivery, time.Time, error) {
	return nil, time.Time{}, nil
}

// Failing implements [engine.Source]. There was no earlier life.
func (c *Consumer) Failing(int64, int) ([]*engine.Delivery, error) { return nil, nil }

// Cancelled implements [engine.Source]. Operators do not know these deliveries.
func (c *Consumer) Cancelled(int64) (reason string, ok bool) { return "", false }

// Prepare implements [engine.Settler]. Nothing survives the process.
func (c *Consumer) Prepare(*engine.Delivery) {}

// Begin implements [engine.Settler]. An ephemeral subscription has no batches.
func (c *Consumer) Begin(all []*engine.Delivery, _ []int, started time.Time) (n int, begun time.Time, cancelled bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all[0].Token.(*delivery).begun = true
	if c.closed {
		return 0, started, false
	}
	return 1, started, false
}

// SetWaiting implements [engine.Settler].
func (c *Consumer) SetWaiting(*engine.Delivery, bool) {}

// End implements [engine.Settler].
func (c *Consumer) End([]*engine.Delivery) {}

// Settle implements [engine.Settler]. It stores no records: the bus does that before an attempt succeeds.
func (c *Consumer) Settle(one engine.Settled, _ []engine.Settled) {
	own, v := one.Token.(*delivery), &one.Disposition
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || own.settled {
		return
	}
	own.settled = true
	if !ledger.Settles(v.Kind) {
		after, _ := own.known().After(own.begun, v, ledger.Moment{Due: v.Due})
		// A new one, because the dispatcher may still look at the old.
		next := &delivery{Delivery: engine.Delivery{Record: own.Record}, again: &again{after.Delivery, after.Due}}
		next.again.HandOut(&next.Delivery)
		next.Token = next
		heap.Push(&c.again, next)
		c.arm()
	}
	if c.full {
		c.wake()
	}
}

// queue has deliveries, the next one first. It implements [heap.Interface].
type queue []*delivery

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].before(q[j]) }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(d any)        { *q = append(*q, d.(*delivery)) }

func (q *queue) Pop() any {
	old := *q
	d := old[len(old)-1]
	old[len(old)-1] = nil
	*q = old[:len(old)-1]
	return d
}

// last returns the index of the delivery that is due last.
func (q queue) last() (at int) {
	for i := range q {
		if q[at].before(q[i]) {
			at = i
		}
	}
	return at
}

func (d *delivery) before(other *delivery) bool {
	if c := d.due().Compare(other.due()); c != 0 {
		return c < 0
	}
	return d.Seq < other.Seq
}

// Parked implements [engine.Parker]: waiting deliveries are in memory.
func (c *Consumer) Parked() bool { return false }

// Behind implements [engine.Parker].
func (c *Consumer) Behind([]string, int64) (int, error) { return -1, nil }

// Free implements [engine.Parker].
func (c *Consumer) Free(string, int) {}
