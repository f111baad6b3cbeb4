package main

import (
	"context"
	"fmt"
	"io"
	"sync"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/runtime"
)

// audit handles every event of the catalogue and adds up the money. The sums cover this
// run only; the file remembers how far audit has read.
type audit struct {
	mu                                  sync.Mutex
	orders, declined, shipped, accounts int
	ordered, paid                       int64 // cents
}

// record is the handler. AnyEvent is sealed as PaymentEvent is, over the whole
// catalogue.
func (a *audit) record(_ context.Context, e runtime.Event[events.AnyEvent]) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch p := e.Payload.(type) {
	case events.OrderPlaced:
		a.orders++
		a.ordered += p.Total.Amount
	case events.PaymentCaptured:
		a.paid += p.Amount.Amount
	case events.PaymentDeclined:
		a.declined++
	case events.OrderShipped:
		a.shipped++
	case events.UserRegistered:
		a.accounts++
	}
	return nil
}

func (a *audit) print(out io.Writer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	fmt.Fprintf(out, "\nThe audit saw %d orders for EUR %s: EUR %s paid, %d payments declined,\n%d parcels shipped, %d new accounts.\n",
		a.orders, decimal(a.ordered), decimal(a.paid), a.declined, a.shipped, a.accounts)
}

func decimal(cents int64) string { return fmt.Sprintf("%d.%02d", cents/100, cents%100) }
