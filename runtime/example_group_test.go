package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
)

// PaymentDue is the payload of payment.due, as generated code has it.
type PaymentDue struct {
	Cents int64 `json:"cents"`
}

// Validate implements [runtime.Payload].
func (PaymentDue) Validate() error { return nil }

// The catalogue says
//
//	payment.due:
//	  subscriptions:
//	    bank:  { group: payment-chain }
//	    audit: { group: payment-chain }
//
// Generated code has that as below.
func ExampleGroupError() {
	ctx := context.Background()
	due := runtime.Define(runtime.Spec[PaymentDue]{
		Name: "payment.due", Settings: declare.DefaultSettings(),
		Subscriptions: []declare.Subscription{
			{Name: "bank", Settings: declare.DefaultSettings(), Group: "payment-chain"},
			{Name: "audit", Settings: declare.DefaultSettings(), Group: "payment-chain"},
		},
	})
	dir, err := os.MkdirTemp("", "group")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	bus, err := runtime.Open(ctx, filepath.Join(dir, "events.db"), runtime.NewCatalogue(due), runtime.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer bus.Shutdown(ctx)
	member := func(name string) error {
		_, err := runtime.Subscribe(bus, due, name, func(_ context.Context, e runtime.Event[PaymentDue]) error {
			fmt.Println(name, "handles", e.Payload.Cents)
			return nil
		})
		return err
	}

	if err := member("audit"); err != nil {
		fmt.Println(err)
	}
	incomplete, _ := errors.AsType[*runtime.GroupError](bus.Start(ctx))
	fmt.Println(incomplete.Group, "lacks", incomplete.Missing)

	// With all members it starts. They run in the order of the catalogue.
	if err := errors.Join(member("bank"), bus.Start(ctx)); err != nil {
		fmt.Println(err)
	}
	if _, err := runtime.Publish(ctx, bus, due, PaymentDue{Cents: 999}); err != nil {
		fmt.Println(err)
	}
	if err := bus.WaitIdle(ctx); err != nil {
		fmt.Println(err)
	}
	// Output:
	// payment-chain lacks [bank]
	// bank handles 999
	// audit handles 999
}
