package runtime_test

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/runtime"
)

// A transaction of database/sql on the file of the bus stores a row and its event. Queries see the
// tables of the program, and the views of the bus.
func ExampleDB() {
	ctx := context.Background()
	folder, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(folder)
	bus, err := events.Open(ctx, filepath.Join(folder, "shop.db"), runtime.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer bus.Shutdown(ctx)
	if _, err := runtime.DB(bus).ExecContext(ctx, "CREATE TABLE ledger (reference TEXT PRIMARY KEY, amount INTEGER NOT NULL)"); err != nil {
		fmt.Println(err)
		return
	}

	capture := func(reference string, amount int64) error {
		tx, err := runtime.DB(bus).BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		payment := events.PaymentCaptured{OrderID: customer, Amount: events.Money{Amount: amount, Currency: events.CurrencyEUR}, Reference: reference}
		if _, err := events.PublishPaymentCaptured(ctx, runtime.In(bus, tx), payment); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO ledger (reference, amount) VALUES (?, ?)", reference, amount); err != nil {
			return err
		}
		return tx.Commit()
	}
	fmt.Println(capture("R1", 100))
	fmt.Println(capture("R1", 200) != nil) // the row is there, so nothing is stored

	tx, err := runtime.DB(bus).BeginTx(ctx, &sql.TxOptions{ReadOnly: true}) // a snapshot
	if err != nil {
		fmt.Println(err)
		return
	}
	defer tx.Rollback()
	var rows, stored int
	if err := tx.QueryRowContext(ctx, "SELECT (SELECT count(*) FROM ledger), (SELECT count(*) FROM events)").Scan(&rows, &stored); err != nil {
		fmt.Println(err)
	}
	fmt.Println(rows, "row,", stored, "event")
	// Output:
	// <nil>
	// true
	// 1 row, 1 event
}
