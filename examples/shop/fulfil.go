package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/step"
)

// errNoParcel is why an order is given up for which the supplier has sent nothing.
var errNoParcel = errors.New("no parcel has come within three days")

// fulfilment does orders of what a supplier sends first, from the reservation to the letter, in one handler.
type fulfilment struct {
	bank chargingBank
	post postOffice
}

// fulfil works in steps: after a crash, a failure or three days of waiting it is called again from its top, and what is done
// is not done again. Each step that has to be taken back if the order is given up says how.
func (f *fulfilment) fulfil(ctx context.Context, e runtime.Event[events.OrderBackordered]) error {
	o := e.Payload
	_, err := step.TxUndo(ctx, "reserve",
		func(ctx context.Context, tx runtime.Tx) (bool, error) {
			_, err := tx.ExecContext(ctx, "INSERT INTO reservations (order_id, article, quantity) VALUES (?, ?, ?)", o.OrderID, o.Article, o.Quantity)
			return err == nil, err
		},
		func(ctx context.Context, tx runtime.Tx, _ bool) error {
			_, err := tx.ExecContext(ctx, "DELETE FROM reservations WHERE order_id = ?", o.OrderID)
			return err
		})
	if err != nil {
		return err
	}
	charge, err := step.DoUndo(ctx, "charge",
		func(ctx context.Context) (charge, error) { return f.bank.charge(step.Key(ctx), o.Total), nil },
		func(ctx context.Context, c charge) error {
			f.bank.refund(step.Key(ctx), c)
			return nil
		})
	if err != nil {
		return err
	}
	if charge.Declined {
		return step.Rollback(&declinedError{events.DeclineReasonInsufficientFunds})
	}
	parcel, err := events.AwaitParcelScanned(ctx, "parcel", o.OrderID, 72*time.Hour)
	if errors.Is(err, step.ErrNoEvent) {
		return step.Rollback(errNoParcel)
	}
	if err != nil {
		return err // also when it begins to wait
	}
	if _, err := step.Tx(ctx, "ship", func(ctx context.Context, tx runtime.Tx) (bool, error) {
		_, err := events.PublishOrderShipped(ctx, tx, events.OrderShipped{
			OrderID: o.OrderID, Carrier: events.CarrierDHL, TrackingCode: parcel.Payload.Code,
			ExpectedOn: runtime.DateOf(parcel.PublishedAt.AddDate(0, 0, 2)),
		})
		return err == nil, err
	}); err != nil {
		return err
	}
	_, err = step.Do(ctx, "mail", func(ctx context.Context) (bool, error) {
		f.post.send(step.Key(ctx), o.Customer.Email, fmt.Sprintf("Dear %s, your %s is on its way.", o.Customer.Name, o.Article))
		return true, nil
	})
	return err
}

// supplier sends the parcel of an order some time later, and the warehouse scans it. It is a handler of another firm, so to say.
func (s *shop) supplier(ctx context.Context, e runtime.Event[events.OrderBackordered]) error {
	if err := step.Sleep(ctx, "on its way", 300*time.Millisecond); err != nil {
		return err
	}
	_, err := events.PublishParcelScanned(ctx, s.bus, events.ParcelScanned{OrderID: e.Payload.OrderID, Code: "S-" + e.Payload.OrderID.String()[:8]})
	return err
}

// charge is what the bank answers. A refusal is an answer, too: an error would be asked again.
type charge struct {
	ID       string `json:"id"`
	Cents    int64  `json:"cents"`
	Declined bool   `json:"declined"`
}

// chargingBank knows a call by its idempotency key: a second one with it has no effect.
type chargingBank struct {
	mu      sync.Mutex
	calls   []string // keys, one for each call
	charges map[string]charge
	refunds map[string]charge
}

// limitOfCard is the most that a card pays.
const limitOfCard = 100_000

func (b *chargingBank) charge(key string, total events.Money) charge {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, key)
	if total.Amount > limitOfCard {
		return charge{Declined: true}
	}
	return remember(&b.charges, key, charge{ID: "charge " + key, Cents: total.Amount})
}

// refund gives back what was charged, if anything was.
func (b *chargingBank) refund(key string, c charge) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, key)
	if !c.Declined {
		remember(&b.refunds, key, c)
	}
}

// postOffice sends a letter once for each key.
type postOffice struct {
	mu      sync.Mutex
	calls   []string
	letters map[string]string
}

func (p *postOffice) send(key, to, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = append(p.calls, key)
	remember(&p.letters, key, to+": "+text)
}

// remember keeps the first value of a key.
func remember[V any](m *map[string]V, key string, v V) V {
	if *m == nil {
		*m = map[string]V{}
	}
	if first, ok := (*m)[key]; ok {
		return first
	}
	(*m)[key] = v
	return v
}
