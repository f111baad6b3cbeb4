// Command outbox has tables of its own in the file of the bus, and stores a row and its event in one transaction.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"

	events "github.com/busgen/busgen/examples/recipes/generated"
	"github.com/busgen/busgen/runtime"
)

// tables are those that the program had before it had a bus. The trigger is for code that cannot publish: it stores an
// event for every row that is marked as imported.
const tables = `
CREATE TABLE IF NOT EXISTS orders (
  id TEXT PRIMARY KEY, email TEXT NOT NULL, cents INTEGER NOT NULL CHECK (cents > 0), imported INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TRIGGER IF NOT EXISTS order_imported AFTER INSERT ON orders WHEN NEW.imported BEGIN
  INSERT INTO outbox (type, payload, dedupe_key)
  VALUES ('order.placed', json_object('order_id', NEW.id, 'email', NEW.email, 'cents', NEW.cents), NEW.id);
END;
`

type shop struct{ bus *runtime.Bus }

// place stores an order and its event: both, or neither.
func (s *shop) place(ctx context.Context, order events.OrderPlaced) error {
	tx, err := runtime.DB(s.bus).BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	_, err = tx.ExecContext(ctx, "INSERT INTO orders (id, email, cents) VALUES (?, ?, ?)", order.OrderID, order.Email, order.Cents)
	if err != nil {
		return err
	}
	if _, err := events.PublishOrderPlaced(ctx, runtime.In(s.bus, tx), order); err != nil {
		return err
	}
	return tx.Commit() // and the bus delivers the event
}

func open(ctx context.Context, db string, receipt func(order string)) (*shop, error) {
	bus, err := events.Open(ctx, db)
	if err != nil {
		return nil, err
	}
	if _, err := runtime.DB(bus).ExecContext(ctx, tables); err != nil {
		return nil, errors.Join(err, bus.Shutdown(ctx))
	}
	_, err = events.SubscribeOrderPlaced(bus, events.OnOrderPlacedSendReceipt, func(_ context.Context, e runtime.Event[events.OrderPlaced]) error {
		receipt(e.Payload.OrderID)
		return nil
	})
	return &shop{bus}, err
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	s, err := open(ctx, "outbox.db", func(order string) { fmt.Println("a receipt for order", order) })
	if err != nil {
		log.Fatal(err)
	}
	defer s.bus.Shutdown(context.WithoutCancel(ctx))
	if err := s.bus.Start(ctx); err != nil {
		log.Print(err)
		return
	}
	if err := s.place(ctx, events.OrderPlaced{OrderID: "1", Email: "ada@example.org", Cents: 500}); err != nil {
		log.Print(err) // a second time: order 1 is stored already
	}
	<-ctx.Done()
}
