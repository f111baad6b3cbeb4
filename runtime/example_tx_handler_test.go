package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/retry"
)

// A ledger has one row for each payment, however often the handler has to be called.
func ExampleSubscribeTx() {
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
		_, err := tx.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS ledger (reference TEXT, amount INTEGER)")
		return err
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	// The first attempt fails after it has written its row.
	_, err = runtime.SubscribeTx(bus, events.PaymentCapturedType, "ledger", func(ctx context.Context, tx runtime.Tx, e runtime.Event[events.PaymentCaptured]) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO ledger (reference, amount) VALUES (?, ?)", e.Payload.Reference, e.Payload.Amount.Amount)
		if err == nil && e.Attempt == 1 {
			err = errors.New("and then something fails")
		}
		return err
	}, runtime.WithRetry(retry.BaseDelay(time.Millisecond)))
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := bus.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	payment := events.PaymentCaptured{OrderID: customer, Amount: events.Money{Amount: 100, Currency: events.CurrencyEUR}, Reference: "TX-1"}
	if _, err := events.PublishPaymentCaptured(ctx, bus, payment); err != nil {
		fmt.Println(err)
		return
	}
	if err := bus.WaitIdle(ctx); err != nil {
		fmt.Println(err)
		return
	}
	err = runtime.Transact(ctx, bus, func(tx runtime.Tx) error {
		var rows, total int
		err := tx.QueryRowContext(ctx, "SELECT count(*), sum(amount) FROM ledger").Scan(&rows, &total)
		fmt.Println(rows, "row, total", total)
		return err
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: 1 row, total 100
}
