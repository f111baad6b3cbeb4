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

// The catalogue says dedupe_by: reference for payment.captured. Two handlers learn of the same
// transaction, and it is published once.
func ExampleWithDedupeKey_catalogue() {
	ctx := context.Background()
	folder, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(folder)
	bus, err := events.Open(ctx, filepath.Join(folder, "shop.db"), runtime.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer bus.Shutdown(ctx)
	payment := events.PaymentCaptured{OrderID: customer, Amount: events.Money{Amount: 100, Currency: events.CurrencyEUR}, Reference: "TX-1"}
	for _, name := range []string{"terminal", "statement"} {
		_, err := events.SubscribeUserRegistered(bus, name, func(ctx context.Context, _ runtime.Event[events.UserRegistered]) error {
			_, err := events.PublishPaymentCaptured(ctx, bus, payment)
			return err
		})
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	if err := bus.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	if _, err := events.PublishUserRegistered(ctx, bus, events.UserRegistered{UserID: customer, Email: "ada@example.org"}); err != nil {
		fmt.Println(err)
		return
	}
	if err := bus.WaitIdle(ctx); err != nil {
		fmt.Println(err)
		return
	}
	for event := range runtime.Find(ctx, bus, events.PaymentCapturedType, runtime.Query{}) {
		fmt.Println("captured:", event.Payload.Reference)
	}
	receipt, err := events.PublishPaymentCaptured(ctx, bus, payment)
	fmt.Println("duplicate:", receipt.Duplicate, err)
	payment.Amount.Amount = 200
	_, err = events.PublishPaymentCaptured(ctx, bus, payment)
	fmt.Println("conflict:", err != nil)
	// Output:
	// captured: TX-1
	// duplicate: true <nil>
	// conflict: true
}
