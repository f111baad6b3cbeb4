package runtime_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/runtime"
)

// Rows of the program and its events are stored together, or not at all.
func ExampleTransact() {
	ctx := context.Background()
	folder, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(folder)
	bus, err := events.Open(ctx, filepath.Join(folder, "shop.db"), runtime.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer bus.Shutdown(ctx)
	err = runtime.Transact(ctx, bus, func(tx runtime.Tx) error {
		_, err := tx.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS ledger (reference TEXT PRIMARY KEY, amount INTEGER NOT NULL CHECK (amount > 0))")
		return err
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	capture := func(reference string, amount int64) error {
		return runtime.Transact(ctx, bus, func(tx runtime.Tx) error {
			payment := events.PaymentCaptured{OrderID: customer, Amount: events.Money{Amount: amount, Currency: events.CurrencyEUR}, Reference: reference}
			if _, err := events.PublishPaymentCaptured(ctx, tx, payment); err != nil {
				return err
			}
			_, err := tx.ExecContext(ctx, "INSERT INTO ledger (reference, amount) VALUES (?, ?)", reference, amount)
			return err
		})
	}
	fmt.Println("TX-1 is stored:", capture("TX-1", 100) == nil)
	fmt.Println("TX-2 is stored:", capture("TX-2", 0) == nil)

	var rows, published int
	err = runtime.Transact(ctx, bus, func(tx runtime.Tx) error {
		return tx.QueryRowContext(ctx, "SELECT (SELECT count(*) FROM ledger), (SELECT count(*) FROM events)").Scan(&rows, &published)
	})
	fmt.Println(rows, "row,", published, "event", err)
	// Output:
	// TX-1 is stored: true
	// TX-2 is stored: false
	// 1 row, 1 event <nil>
}
