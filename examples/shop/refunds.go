package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/google/uuid"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/runtime"
)

// couponsOf returns what the customer gets back for each coupon of an order.
func couponsOf(order events.OrderPlaced) (refunds []events.PaymentRefunded) {
	if order.Number%10 != 9 {
		return nil
	}
	for n, cents := range []int64{100, 50} {
		refunds = append(refunds, events.PaymentRefunded{
			OrderID: order.OrderID, Amount: euros(cents), Refund: events.RefundCard{LastFour: "4242"},
			Reference: fmt.Sprintf("coupon-%d-%d", order.Number, n+1),
		})
	}
	return refunds
}

// creditNotes has the notes that this run has written and sent. Its two handlers are the members
// of a group: the bus calls send only when write has succeeded, and after a failure of send it
// tries send alone. The order is strict: the second refund of an order is not begun before the
// first is settled, however often that has to be tried.
type creditNotes struct {
	mu            sync.Mutex
	written, sent map[uuid.UUID][]string // references by order
}

// write gives each note the next number of its order.
func (c *creditNotes) write(_ context.Context, e runtime.Event[events.PaymentRefunded]) error {
	c.add(&c.written, e.Payload)
	return nil
}

var errNoStamps = errors.New("there are no stamps at the moment")

// send has no stamps for the first note of an order, and has bought some when it is tried again.
func (c *creditNotes) send(_ context.Context, e runtime.Event[events.PaymentRefunded]) error {
	c.mu.Lock()
	first := len(c.sent[e.Payload.OrderID]) == 0
	c.mu.Unlock()
	if first && e.Attempt == 1 {
		return errNoStamps
	}
	c.add(&c.sent, e.Payload)
	return nil
}

func (c *creditNotes) add(to *map[uuid.UUID][]string, refund events.PaymentRefunded) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if *to == nil {
		*to = map[uuid.UUID][]string{}
	}
	(*to)[refund.OrderID] = append((*to)[refund.OrderID], refund.Reference)
}

func (c *creditNotes) print(out io.Writer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	count := func(all map[uuid.UUID][]string) (n int) {
		for _, references := range all {
			n += len(references)
		}
		return n
	}
	fmt.Fprintf(out, "%d credit notes were written, and %d sent.\n", count(c.written), count(c.sent))
}
