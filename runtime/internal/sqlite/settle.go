package sqlite

import (
	"slices"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// A part can settle a delivery: its handler has written within the transaction, and its
// success is to be stored with that. Until the transaction is stored this is tentative. What
// the consumer wants written after it is written at the end of the same transaction, beside
// what it wanted before. If the transaction fails, the delivery is as it was, and the
// dispatcher settles it otherwise.

// tentative is a delivery that a part has settled in the transaction at hand.
type tentative struct {
	*delivery
	consumer  *consumer
	cancelled string // why it was to be cancelled
	marked    bool   // it was
	stored    func()
	flush     bool // its consumer's writing begins here
}

// settle settles a delivery tentatively. It reports false if it cannot be settled any more.
func (b *batch) settle(s *engine.Settling) bool {
	one, ok := s.Consumer.(*consumer).settleTentatively(s.Delivery)
	if ok {
		one.stored = s.Stored
		b.settled = append(b.settled, one)
	}
	return ok
}

func (c *consumer) settleTentatively(d *engine.Delivery) (tentative, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	own := d.Token.(*delivery)
	if c.ended || c.replaced || own.settled {
		return tentative{}, false
	}
	one := tentative{delivery: own, consumer: c}
	one.cancelled, one.marked = c.cancelled[d.Seq]
	own.settled, own.final, own.tentative = true, true, true
	if cancelled := c.unmark(d.Seq); cancelled || own.row != "" { // else the cursor says it, as in settle
		c.rows[d.Seq] = own
		c.dispositions = append(c.dispositions, settledDelivery{
			delivery: own, Disposition: engine.Disposition{Kind: engine.Done}, begun: true, cancelled: cancelled,
		})
	}
	return one, true
}

// takeSettled adds to the flushes what the consumers of the deliveries want written.
func (b *batch) takeSettled() {
	for i := range b.settled {
		one := &b.settled[i]
		another := func(other tentative) bool { return other.consumer == one.consumer }
		if !slices.ContainsFunc(b.settled[:i], another) {
			one.flush = true
			b.flushes = append(b.flushes, one.consumer.take())
		}
	}
}

// tellSettled says that the deliveries are settled for good.
func (b *batch) tellSettled() {
	for _, one := range b.settled {
		if one.stored != nil {
			one.stored()
		}
	}
	b.forgetSettled()
}

func (b *batch) forgetSettled() {
	clear(b.settled)
	b.settled = b.settled[:0]
}

// unsettle makes the deliveries what they were before the transaction, which has failed.
func (b *batch) unsettle() {
	for i := len(b.settled) - 1; i >= 0; i-- {
		one := b.settled[i]
		if one.flush {
			last := len(b.flushes) - 1
			one.consumer.restore(b.flushes[last])
			b.flushes[last] = flush{}
			b.flushes = b.flushes[:last]
		}
	}
	for _, one := range b.settled {
		one.consumer.unsettle(one)
	}
	b.forgetSettled()
}

// unsettle makes a delivery what it was. It is not on the way any more: the next flush gives
// it a row, so that the cursor can pass it. If it was settled otherwise meanwhile, such as by a shutdown
// that does not wait, that holds now.
func (c *consumer) unsettle(one tentative) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	own := one.delivery
	c.dispositions = slices.DeleteFunc(c.dispositions, func(d settledDelivery) bool { return d.delivery == own })
	own.settled, own.final, own.tentative = false, false, false
	if one.marked {
		if c.cancelled == nil {
			c.cancelled = map[int64]string{}
		}
		c.cancelled[own.Seq] = one.cancelled
		c.cancels.Store(true)
	}
	if otherwise := own.otherwise; otherwise != nil {
		own.otherwise = nil
		c.settle(&own.Delivery, *otherwise)
		return
	}
	if !slices.Contains(c.way, own) {
		own.row = rowRunning
		c.rows[own.Seq] = own
		if !slices.ContainsFunc(c.owed, func(r rowChange) bool { return r.delivery == own }) {
			c.owed = append(c.owed, rowChange{own, rowRunning})
		}
	} else if own.row == "" {
		delete(c.rows, own.Seq)
	}
}
