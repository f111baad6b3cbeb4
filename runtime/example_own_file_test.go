package runtime_test

import (
	"context"
	"database/sql"
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

// The tables of the program are in a database of their own, so a row and the success of
// its handler are two commits. The process can die between them, and then the handler is
// called again. The event's ID as a key makes the second row impossible.
func Example_rowsInAnotherDatabase() {
	ctx := context.Background()
	folder, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(folder)
	ledger, err := sql.Open("sqlite3", "file:"+filepath.ToSlash(filepath.Join(folder, "ledger.db")))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer ledger.Close()
	if _, err := ledger.ExecContext(ctx, "CREATE TABLE ledger (event TEXT PRIMARY KEY, amount INTEGER NOT NULL)"); err != nil {
		fmt.Println(err)
		return
	}
	bus, err := events.Open(ctx, filepath.Join(folder, "shop.db"), runtime.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer bus.Shutdown(ctx)
	_, err = events.SubscribePaymentCaptured(bus, events.UndeclaredPaymentCaptured("ledger"), func(ctx context.Context, e runtime.Event[events.PaymentCaptured]) error {
		_, err := ledger.ExecContext(ctx, "INSERT INTO ledger (event, amount) VALUES (?, ?) ON CONFLICT (event) DO NOTHING",
			e.ID.String(), e.Payload.Amount.Amount)
		if err == nil && e.Attempt == 1 {
			err = errors.New("the row is stored, and the success is not")
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
	var rows, total int
	if err := ledger.QueryRowContext(ctx, "SELECT count(*), sum(amount) FROM ledger").Scan(&rows, &total); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(rows, "row, total", total)
	// Output: 1 row, total 100
}
