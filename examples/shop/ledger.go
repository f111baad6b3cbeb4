package main

import (
	"context"
	"database/sql"
	_ "embed"
	"fmt"
	"io"

	"github.com/google/uuid"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/runtime"
)

//go:embed tables.sql
var tables string

// makeTables makes the shop's own tables in the file of the bus, if they are not there yet.
func makeTables(bus *runtime.Bus) error {
	_, err := runtime.DB(bus).Exec(tables)
	return err
}

// post writes a line into the ledger. The event that is handled is its key: a second line for it
// would be an error. There is none, because the line and the success of the handler are
// one transaction.
func post(ctx context.Context, tx runtime.Tx, event, order uuid.UUID, cents int64, reference string) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO ledger (event, order_id, cents, reference) VALUES (?, ?, ?, ?)", event, order, cents, reference)
	return err
}

// postRefund is a transactional handler: it does nothing but write to the file, so all of it
// runs in a transaction.
func (s *shop) postRefund(ctx context.Context, tx runtime.Tx, e runtime.Event[events.PaymentRefunded]) error {
	return post(ctx, tx, e.ID, e.Payload.OrderID, -e.Payload.Amount.Amount, e.Payload.Reference)
}

// ledger reads the tables.
type ledger struct{ file *sql.DB }

// lastNumber returns the highest number of an order so far.
func (l ledger) lastNumber(ctx context.Context) (last int64, err error) {
	err = l.file.QueryRowContext(ctx, "SELECT coalesce(max(number), 0) FROM orders").Scan(&last)
	return last, err
}

// proofs are what the tables and the events both say. Each is one query, which sees one
// moment of the file.
var proofs = []struct{ name, rows, events string }{
	// A customer's order and its event are one transaction (takeOrder), and so are a payment's line,
	// its event and the success of charge-card. These never differ, not even between a crash and the next start.
	{"orders", "SELECT id, cents FROM orders", "SELECT payload ->> 'order_id', payload ->> '$.total.amount' FROM events WHERE type = 'order.placed'"},
	{
		"charges", "SELECT order_id, cents, reference FROM ledger WHERE cents >= 0",
		"SELECT payload ->> 'order_id', payload ->> '$.amount.amount', payload ->> 'reference' FROM events WHERE type = 'payment.captured'",
	},
	// A refund's line is stored later than its event, by the handler of that. These agree when it is idle.
	{
		"refunds", "SELECT event, -cents, reference FROM ledger WHERE cents < 0",
		"SELECT id, payload ->> '$.amount.amount', payload ->> 'reference' FROM events WHERE type = 'payment.refunded'",
	},
}

// always is how many of the proofs hold at every moment.
const always = 2

// prove compares the first n of the proofs.
func (l ledger) prove(ctx context.Context, n int, out io.Writer) error {
	for i, p := range proofs[:n] {
		var rows, without, missing int
		// EXCEPT compares sets, so what is there twice is counted beside it.
		err := l.file.QueryRowContext(ctx, fmt.Sprintf(`
			WITH r AS (%s), e AS (%s)
			SELECT (SELECT count(*) FROM r),
			  (SELECT count(*) FROM (SELECT * FROM r EXCEPT SELECT * FROM e)) + (SELECT count(*) FROM r) - (SELECT count(*) FROM (SELECT DISTINCT * FROM r)),
			  (SELECT count(*) FROM (SELECT * FROM e EXCEPT SELECT * FROM r)) + (SELECT count(*) FROM e) - (SELECT count(*) FROM (SELECT DISTINCT * FROM e))`,
			p.rows, p.events)).Scan(&rows, &without, &missing)
		if err != nil {
			return err
		}
		if without > 0 || missing > 0 {
			return fmt.Errorf("the tables and the events DIFFER: %d of %d %s have no event of their own, and %d events have no row of their own", without, rows, p.name, missing)
		}
		if i == 0 {
			fmt.Fprint(out, "The tables and the events agree: ")
		} else {
			fmt.Fprint(out, ", ")
		}
		fmt.Fprintf(out, "%d %s", rows, p.name)
	}
	fmt.Fprintln(out, ".")
	return nil
}
