package sqlite

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
	"github.com/busgen/busgen/runtime/internal/sqlite/claims"
)

// consumer is the durable position of one subscription.
//
// A delivery is either on the way, that is polled from the log, above the
// cursor and without a row; or it has a row of its own. The cursor follows the
// oldest delivery on the way. When that one is slow it is given a row, so that
// the cursor can pass it.
type consumer struct {
	ground *ground
	writer *writer
	id     int64
	name   string
	strict bool // nothing goes ahead of others

	stepsEnd int64 // up to this event an earlier consumer of the name may have stored steps

	cancels   atomic.Bool // cancelled is not empty
	waitlists waitlists
	express   express

	// polling is held by Poll, which reads the file; mu never is.
	polling  sync.Mutex
	buffer   []*logged
	types    typeMatcher // under polling
	ahead    *ahead      // under polling; nil for nothing
	pageRead time.Time   // under polling: when the file was asked for a page
	doubts   bool        // under polling: the next poll reads from the file where the log ends

	mu               sync.Mutex
	ended            bool // its log is gone
	replaced         bool // another consumer of the name has taken its place
	wake             func()
	next             int64               // seq of the log to poll next
	redelivered      int64               // up to here an event may have been handled before
	way              []*delivery         // on the way, in order; the first are removed once settled
	rows             map[int64]*delivery // polled or not yet written, with a row, by seq
	dispositions     []settledDelivery   // to be written
	starves          bool                // so many that the log is not read
	owed             []rowChange         // to be written, because a transaction failed
	cursor           int64               // as written
	nextDue          int64               // no waiting row is due before; in microseconds
	timer            *time.Timer         // wakes at nextDue
	reading          bool                // Poll is reading rows
	writtenMeanwhile []int64             // the settled ones that were written since reading began
	queued           int                 // the writer knows that there is something to write
	failingSince     time.Time           // since when it could not; zero if the last time it could
	workers          []*claims.Place     // by worker: its place in the claims file
	cancelled        map[int64]string    // reasons by seq
	preparing        *claims.Place       // that of Prepare; nil before its first call
	prepared         int64               // the seq that it says; 0 for none
}

// never is a due time that does not come.
const never = math.MaxInt64

// delivery is an engine.Delivery with what the consumer knows about it.
type delivery struct {
	engine.Delivery
	settled bool
	final   bool          // and it does not come again
	parked  bool          // it is settled with a waitlist
	express bool          // it goes ahead of the log, and was not begun before, as far as is known
	stepped bool          // the attempt has stored a step
	row     string        // state of its row in the file; empty without one
	started time.Time     // of the attempt; zero before it
	place   *claims.Place // of the worker that has begun it

	tentative bool                // a transaction that is not stored yet has settled it
	otherwise *engine.Disposition // what it was to be settled with meanwhile; nil for nothing
}

// settledDelivery is a delivery with its disposition.
type settledDelivery struct {
	*delivery
	engine.Disposition
	staged    []logged
	begun     bool  // a handler was called
	cancelled bool  // the file says so, and must not say so any more
	again     int64 // when it comes again, in microseconds, as it was written; never for one that does not
}

// runningDelay is how long an attempt runs before the file says so.
const runningDelay = 5 * time.Millisecond

// Notify implements [engine.Consumer].
func (c *consumer) Notify(wake func(), _ func() bool) {
	c.mu.Lock()
	c.wake = wake
	c.mu.Unlock()
	wake()
}

// call wakes whoever polls: there are new events, some of which may be due at
// the given microsecond only.
func (c *consumer) call(due int64) {
	c.mu.Lock()
	c.dueAt(due)
	wake := c.wake
	c.mu.Unlock()
	wake()
}

// recheck makes the next polls ask the file for retries and for express deliveries: another process may
// have made some.
func (c *consumer) recheck() {
	c.mu.Lock()
	c.nextDue = 0
	c.mu.Unlock()
	c.express.look()
	c.call(never)
}

// stop ends the timer and the wake-ups.
func (c *consumer) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wake = func() {}
	if c.timer != nil {
		c.timer.Stop()
	}
}

// Begin implements [engine.Consumer].
func (c *consumer) Begin(all []*engine.Delivery, workers []int, started time.Time) (n int, begun time.Time, cancelled bool) {
	if len(all) > 1 {
		return c.beginBatch(all, workers, started)
	}
	d := all[0]
	own := d.Token.(*delivery)
	c.mu.Lock()
	if c.ended || c.replaced {
		c.mu.Unlock()
		return 0, started, false
	}
	if _, cancelled = c.cancelled[d.Seq]; cancelled {
		c.mu.Unlock()
		return 0, started, true
	}
	own.started, own.place = started, c.place(workers[0])
	c.look()
	upTo, ahead := c.begins(own)
	c.mu.Unlock()
	c.beginExpress(ahead)
	c.ground.claims.Begin(own.place, c.id, d.Seq, upTo, d.Failures+d.Uncounted)
	if d.Suspect {
		c.ground.claims.Sync(own.place)
	}
	return 1, started, false
}

// beginBatch is Begin for several deliveries.
func (c *consumer) beginBatch(all []*engine.Delivery, workers []int, started time.Time) (n int, begun time.Time, cancelled bool) {
	starts, suspects, ahead := make([]claims.Start, 0, len(all)), false, int64(0)
	c.mu.Lock()
	if !c.ended && !c.replaced {
		for i, d := range all {
			if _, cancelled = c.cancelled[d.Seq]; cancelled {
				break
			}
			suspects = suspects || d.Suspect
			own := d.Token.(*delivery)
			own.started, own.place = started, c.place(workers[i])
			upTo, express := c.begins(own)
			ahead = max(ahead, express)
			starts = append(starts, claims.Start{Place: own.place, Seq: d.Seq, UpTo: upTo, Executions: d.Failures + d.Uncounted})
		}
		if len(starts) > 0 {
			c.look()
		}
	}
	c.mu.Unlock()
	c.beginExpress(ahead)
	c.ground.claims.BeginAll(c.id, starts)
	if suspects {
		c.ground.claims.Sync(starts[0].Place) // once for all
	}
	return len(starts), started, cancelled
}

// SetWaiting implements [engine.Consumer].
func (c *consumer) SetWaiting(d *engine.Delivery, waits bool) {
	place := d.Token.(*delivery).place
	c.ground.claims.SetWaiting(place, d.Seq, waits)
	if d.Suspect {
		c.ground.claims.Sync(place)
	}
}

// End implements [engine.Consumer].
func (c *consumer) End(all []*engine.Delivery) {
	if len(all) == 1 {
		if place := all[0].Token.(*delivery).place; place != nil { // else it had ended before Begin
			c.ground.claims.End(place, all[0].Seq)
		}
		return
	}
	ends := make([]claims.Start, 0, len(all))
	for _, d := range all {
		if place := d.Token.(*delivery).place; place != nil {
			ends = append(ends, claims.Start{Place: place, Seq: d.Seq})
		}
	}
	c.ground.claims.EndAll(ends)
}

// Prepare implements [engine.Consumer].
func (c *consumer) Prepare(d *engine.Delivery) {
	c.mu.Lock()
	if c.ended {
		c.mu.Unlock()
		return
	}
	if c.preparing == nil {
		c.preparing = c.ground.claims.Reserve()
	}
	place, before := c.preparing, c.prepared
	if c.prepared = 0; d != nil {
		c.prepared = d.Seq
	}
	c.mu.Unlock()
	if d == nil {
		c.ground.claims.End(place, before)
		return
	}
	c.ground.claims.Prepare(place, c.id, d.Seq, d.Failures+d.Uncounted)
	if d.Suspect {
		c.ground.claims.Sync(place)
	}
}

// place returns the worker's place in the claims file.
func (c *consumer) place(worker int) *claims.Place {
	for len(c.workers) <= worker {
		c.workers = append(c.workers, c.ground.claims.Reserve())
	}
	return c.workers[worker]
}

// Settle implements [engine.Consumer]. The writer takes all that is settled at once, so
// it takes all of these or none.
func (c *consumer) Settle(one engine.Settled, others []engine.Settled) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle(one.Delivery, &one.Disposition)
	for i := range others {
		c.settle(others[i].Delivery, &others[i].Disposition)
	}
}

// settle is Settle for who holds mu.
func (c *consumer) settle(d *engine.Delivery, disposition *engine.Disposition) {
	own := d.Token.(*delivery)
	if own.tentative {
		otherwise := *disposition // a copy, because only this one has to be on the heap
		own.otherwise = &otherwise
	}
	if c.ended || c.replaced {
		return
	}
	if own.settled { // by a transaction of the program
		for _, waitlist := range disposition.Frees {
			c.waitlists.free(waitlist, 1)
			c.queue(0)
		}
		return
	}
	begun := !own.started.IsZero()
	if disposition.Kind == engine.Release && own.row == "" && !begun {
		return // it stays on the way, and the cursor below it
	}
	own.settled = true
	if disposition.Waitlist != "" {
		own.parked = true
		c.waitlists.park(d.Seq, disposition)
	}
	cancelled := false
	if own.final = ledger.Settles(disposition.Kind); own.final {
		cancelled = c.unmark(d.Seq)
	}
	delay := flushDelay
	if disposition.Kind != engine.Done || own.row != "" || len(disposition.Staged) > 0 || len(disposition.Frees) > 0 || cancelled {
		// The disposition needs a row, or the end of one. From here on until it
		// is written the delivery must not be polled again.
		c.rows[d.Seq] = own
		c.dispositions = append(c.dispositions, settledDelivery{own, *disposition, c.ground.types.number(nil, disposition.Staged), begun, cancelled, never})
		delay = 0
	}
	for len(c.way) > 0 && c.way[0].settled {
		c.way[0] = nil
		c.way = c.way[1:]
	}
	if c.ground.waiters.any() {
		delay = 0
	}
	c.queue(delay)
}

// queue tells the writer that there is something to write.
func (c *consumer) queue(delay time.Duration) {
	if c.queued == queuedDispositions && delay > 0 {
		return
	}
	c.queued = queuedDispositions
	c.writer.schedule(c, delay, false)
}

// look tells the writer to come back for attempts that run for long.
func (c *consumer) look() {
	if c.queued == queuedNot {
		c.queued = queuedLook
		c.writer.schedule(c, runningDelay, true)
	}
}

// What the writer knows of a consumer.
const (
	queuedNot = iota
	queuedLook
	queuedDispositions
)

// idle says whether everything polled is settled and written, and everything polled that
// this process knows to be in the log, and up to which event. Waiting rows are not known here.
func (c *consumer) idle() (polled int64, idle bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.next - 1, len(c.way) == 0 && len(c.rows) == 0 && len(c.dispositions) == 0 && c.cursor == c.next-1 && c.next >= c.ground.tail.end()
}

// yield ends the consumer for another one in its place. It gives the places in the
// claims file away, except those of handlers that were left behind and still run.
func (c *consumer) yield() (places []*claims.Place) {
	c.mu.Lock()
	defer c.mu.Unlock()
	places, c.workers, c.replaced = c.workers, nil, true
	return slices.DeleteFunc(places, (*claims.Place).Busy)
}

// end makes the consumer one of a log that is gone: it hands out nothing and
// records nothing.
func (c *consumer) end() {
	c.stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	c.way, c.dispositions, c.owed, c.writtenMeanwhile = nil, nil, nil, nil
	clear(c.rows)
}

// gone tells whether the consumer has ended.
func (c *consumer) gone() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended
}
