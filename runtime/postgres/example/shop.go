package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/examples/generated/eventstest"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/postgres"
)

const tables = `
	CREATE TABLE orders (number bigint PRIMARY KEY, id uuid NOT NULL);
	CREATE TABLE invoices (order_number bigint NOT NULL, event uuid NOT NULL);
	CREATE TABLE reserved (order_number bigint NOT NULL);`

var errChanged = errors.New("the customer has changed their mind")

// takeOrder stores an order with its event, or neither.
func takeOrder(ctx context.Context, pool *pgxpool.Pool, bus *runtime.Bus, number int64, changed bool) error {
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		order := eventstest.SampleOrderPlaced()
		order.Number = number
		if _, err := tx.Exec(ctx, "INSERT INTO orders (number, id) VALUES ($1, $2)", number, order.OrderID); err != nil {
			return err
		}
		if _, err := events.PublishOrderPlaced(ctx, postgres.In(bus, tx), order); err != nil {
			return err
		}
		if changed {
			return errChanged
		}
		return nil
	})
}

// subscribe has what happens then.
func subscribe(bus *runtime.Bus) error {
	_, err := postgres.Subscribe(bus, events.OrderPlacedType, "invoices", func(ctx context.Context, tx pgx.Tx, e runtime.Event[events.OrderPlaced]) error {
		if _, err := tx.Exec(ctx, "INSERT INTO invoices (order_number, event) VALUES ($1, $2)", e.Payload.Number, e.ID); err != nil {
			return err
		}
		if e.Attempt == 1 && e.Payload.Number%50 == 7 {
			return errors.New("the printer is out of paper") // the invoice is rolled back, and written the next time
		}
		return nil
	}, runtime.WithConcurrency(2))
	if err != nil {
		return err
	}
	_, err = postgres.SubscribeBatch(bus, events.OrderPlacedType, "stock", func(ctx context.Context, tx pgx.Tx, all []runtime.Event[events.OrderPlaced]) error {
		numbers := make([]int64, len(all))
		for i, e := range all {
			numbers[i] = e.Payload.Number
		}
		_, err := tx.Exec(ctx, "INSERT INTO reserved (order_number) SELECT unnest($1::bigint[])", numbers)
		return err
	})
	return err
}

// compare waits until all is handled, and compares rows.
func compare(ctx context.Context, pool *pgxpool.Pool, bus *runtime.Bus) error {
	ctx, end := context.WithTimeout(ctx, time.Minute)
	defer end()
	for waiting := 1; waiting > 0; time.Sleep(10 * time.Millisecond) {
		if err := pool.QueryRow(ctx, "SELECT count(*) FROM busgen_example.outbox").Scan(&waiting); err != nil {
			return err
		}
	}
	if err := bus.WaitIdle(ctx); err != nil {
		return err
	}
	var taken, invoices, invoiced, reserved int
	err := pool.QueryRow(ctx, `SELECT (SELECT count(*) FROM orders), (SELECT count(*) FROM invoices), (SELECT count(DISTINCT order_number) FROM invoices),
		(SELECT count(*) FROM reserved)`).Scan(&taken, &invoices, &invoiced, &reserved)
	if err != nil {
		return err
	}
	fmt.Printf("%d customers, %d orders, %d invoices for %d orders, stock for %d\n", orders, taken, invoices, invoiced, reserved)
	if want := orders - orders/5; taken != want || invoices != want || invoiced != want || reserved != want {
		return fmt.Errorf("it should be %d of each", want)
	}
	fmt.Println("every order has its invoice and its stock, once")
	return nil
}
