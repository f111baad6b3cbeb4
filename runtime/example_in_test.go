package runtime_test

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/ncruces/go-sqlite3/driver"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/runtime"
)

// A transaction that the program has begun itself, with database/sql, stores a row and its event.
func ExampleIn() {
	ctx := context.Background()
	folder, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "shop.db")
	bus, err := events.Open(ctx, path, runtime.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer bus.Shutdown(ctx)
	db, err := driver.Open("file:" + filepath.ToSlash(path) + "?_txlock=immediate") // or sql.Open("sqlite3", …)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, "CREATE TABLE ledger (reference TEXT PRIMARY KEY, amount INTEGER NOT NULL)"); err != nil {
		fmt.Println(err)
		return
	}

	capture := func(tx *sql.Tx, reference string, amount int64) error {
		if _, err := tx.ExecContext(ctx, "INSERT INTO ledger (reference, amount) VALUES (?, ?)", reference, amount); err != nil {
			return err
		}
		payment := events.PaymentCaptured{OrderID: customer, Amount: events.Money{Amount: amount, Currency: events.CurrencyEUR}, Reference: reference}
		_, err := events.PublishPaymentCaptured(ctx, runtime.In(bus, tx), payment)
		return err
	}
	for _, reference := range []string{"R1", "R2"} {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		err = capture(tx, reference, 100)
		if err == nil && reference == "R1" {
			err = tx.Commit()
		} else {
			tx.Rollback()
		}
		if err != nil {
			fmt.Println(err)
		}
	}

	var rows, stored int
	if err := db.QueryRowContext(ctx, "SELECT (SELECT count(*) FROM ledger), (SELECT count(*) FROM events)").Scan(&rows, &stored); err != nil {
		fmt.Println(err)
	}
	fmt.Println(rows, "row,", stored, "event")
	// Output: 1 row, 1 event
}
