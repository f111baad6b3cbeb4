package main

import (
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/runtime"
)

// sell publishes the orders, and returns when every event that follows from them is
// handled or a dead letter.
func (s *shop) sell(ctx context.Context, o options, out io.Writer) error {
	last, err := s.ledger.lastNumber(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\nSelling %d orders, %d at a time:\n", o.orders, o.publishers)
	var sold atomic.Int64
	if s.schedule == nil {
		stop := showProgress(out, func() string { return progress(s.bus.Stats(), sold.Load(), o.orders) })
		defer stop()
	}
	if err := s.takeOrders(ctx, last, o, &sold); err != nil {
		return err
	}
	// Handlers publish events too; idle means that all of them are settled.
	return s.bus.WaitIdle(ctx)
}

// takeOrders takes orders in several goroutines at once, as the requests of a web
// server would. Transactions that wait at the same moment share one commit, so
// many of them are faster than one.
func (s *shop) takeOrders(ctx context.Context, last int64, o options, sold *atomic.Int64) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// Spread over a second: there should be something to watch.
	pause := time.Second * time.Duration(o.publishers) / time.Duration(o.orders)
	if o.tune != "" {
		pause = tuningPace * time.Duration(o.publishers)
	}

	var taken atomic.Int64
	var publishers sync.WaitGroup
	for range o.publishers {
		publishers.Go(func() {
			for n := taken.Add(1); n <= int64(o.orders); n = taken.Add(1) {
				if n > int64(o.publishers) {
					sleep(ctx, pause)
				}
				visit := inSession(ctx, fmt.Sprintf("visit-%d", last+n))
				if err := s.takeOrder(visit, newOrder(last+n)); err != nil {
					cancel(err)
					return
				}
				sold.Add(1)
			}
		})
	}
	publishers.Wait()
	return context.Cause(ctx)
}

// takeOrder stores the row of an order and its events in one transaction: there is no order that
// no handler hears of, and no event about an order that does not exist.
func (s *shop) takeOrder(ctx context.Context, order events.OrderPlaced) error {
	var receipt *runtime.Receipt
	err := runtime.Transact(ctx, s.bus, func(tx runtime.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO orders (id, number, customer, cents) VALUES (?, ?, ?, ?)",
			order.OrderID, order.Number, order.Customer.Name, order.Total.Amount)
		if err != nil {
			return err
		}
		if id := order.Customer.UserID; id != nil {
			_, err := events.PublishUserRegistered(ctx, tx, events.UserRegistered{
				UserID: *id, Email: order.Customer.Email, Preferences: map[string]string{"language": "en"},
			})
			if err != nil {
				return err
			}
		}
		if order.Number%50 == 10 {
			if _, err := events.PublishOrderBackordered(ctx, tx, backorder(order.Customer)); err != nil {
				return err
			}
		}
		receipt, err = events.PublishOrderPlaced(ctx, tx, order)
		return err
	})
	if err != nil {
		return err // and nothing of it is stored: the customer may try again
	}
	// From here on the order is a promise.
	return s.promises.add(receipt.ID)
}

// newOrder returns an order. Its number decides which failures it causes, so that every
// run can be checked:
//
//	…3           the line to the bank drops twice, then holds
//	21, 61, 101  and so on: the bank declines it
//	…25 and …75  the receipt goes to a mail provider that is down
//	…9           there are two coupons: the customer gets some money back, twice
//	…37          it is a present without a message
//	…10 and …60  the customer also orders what a supplier sends to the shop first
func newOrder(number int64) events.OrderPlaced {
	name := customers[number%int64(len(customers))]
	article := articles[number%int64(len(articles))]
	quantity := int32(number%3 + 1)
	order := events.OrderPlaced{
		OrderID:  uuid.New(),
		Number:   number,
		Customer: events.Customer{Name: name, Email: fmt.Sprintf("customer%d@example.com", number)},
		ShipTo:   events.Address{Street: "Hauptstraße 1", Postcode: "10115", City: "Berlin", Country: "DE"},
		Lines:    []events.OrderLine{{Article: article.number, Quantity: quantity, UnitPrice: euros(article.cents)}},
		Total:    euros(article.cents * int64(quantity)),
		Method:   events.PaymentMethodCard,
	}
	if number%5 == 0 {
		order.Customer.UserID = new(uuid.New()) // opens an account
	}
	if number%50 == 25 {
		order.Customer.Email = fmt.Sprintf("customer%d@%s", number, brokenProvider)
	}
	if number%20 == 17 {
		order.Gift = &events.Gift{Paper: "stars", Message: new("Happy birthday!")}
	}
	if number%100 == 37 {
		order.Gift.Message = nil
	}
	return order
}

// backorder is an order of what is not on the shelf.
func backorder(customer events.Customer) events.OrderBackordered {
	return events.OrderBackordered{OrderID: uuid.New(), Customer: customer, Article: "SAMOVAR-1", Quantity: 1, Total: euros(19900)}
}

var customers = []string{"Ada", "Grace", "Edsger", "Barbara", "Donald", "Frances", "Tony"}

var articles = []struct {
	number string
	cents  int64
}{{"TEAPOT-1", 2490}, {"MUG-3", 890}, {"KETTLE-2", 4900}, {"SPOON-7", 350}}

func euros(cents int64) events.Money {
	return events.Money{Amount: cents, Currency: events.CurrencyEUR}
}

// sleep waits for d, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
