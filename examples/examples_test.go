package examples_test

import (
	"context"
	"maps"
	"path/filepath"
	"testing"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/examples/generated/eventstest"
	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/glob"
	"github.com/busgen/busgen/internal/output"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/retry"
	"github.com/busgen/busgen/templates"
)

func TestTheGeneratedCodeIsWhatTheCatalogueSays(t *testing.T) {
	for _, folder := range []string{"", "recipes/"} {
		c, findings, err := parse.Load(folder + "events.yaml")
		if err != nil || len(findings) > 0 {
			t.Fatal(err, findings)
		}
		files, err := templates.Files(c, templates.Target{ImportPath: "github.com/busgen/busgen/examples/" + folder + "generated"})
		if err != nil {
			t.Fatal(err)
		}
		plan, err := output.Compare(folder+"generated", files)
		if err != nil {
			t.Fatal(err)
		}
		if !plan.UpToDate() {
			t.Errorf("examples/%sgenerated is stale: run go generate ./examples/...", folder)
		}
	}
}

// The budgets count executions, the first included.
func TestEveryFamilyOfEventsHasItsRetryBudget(t *testing.T) {
	budgets := []struct {
		pattern  string
		attempts int
		backoff  retry.Backoff
	}{
		{"order.*", 3, retry.Exponential},
		{"parcel.*", 3, retry.Exponential},
		{"payment.*", 5, retry.Linear},
		{"report.*", 3, retry.Exponential},
		{"user.registered", 3, retry.Exponential},
		{"user.email_changed", 3, retry.Exponential},
		{"user.deletion_requested", 10, retry.Exponential},
		{"ml.run.*", 5, retry.Exponential},
		{"ml.trial.*", 3, retry.Exponential},
		{"ui.command.*", 2, retry.None},
		{"system.*", 3, retry.Exponential},
	}
	for _, event := range events.Catalogue.Types() {
		found := false
		for _, want := range budgets {
			if !glob.MustParse(want.pattern).Match(event.Name()) {
				continue
			}
			found = true
			if got := event.Settings().Retry; got.MaxAttempts != want.attempts || got.Backoff != want.backoff {
				t.Errorf("%s: %d attempts, %v; want %d, %v", event.Name(), got.MaxAttempts, got.Backoff, want.attempts, want.backoff)
			}
		}
		if !found {
			t.Errorf("%s has no budget in this test", event.Name())
		}
	}
}

// A crash costs an attempt as well, so the one that moves money has more of them.
func TestTheCardIsChargedMorePatientlyThanTheReceiptIsSent(t *testing.T) {
	attempts := map[string]int{}
	for _, s := range events.OrderPlacedType.Any().Subscriptions() {
		attempts[s.Name] = s.Settings.Retry.MaxAttempts
	}
	want := map[string]int{
		events.OnOrderPlacedChargeCard.String():    5,
		events.OnOrderPlacedSendReceipt.String():   3,
		events.OnOrderPlacedPrintGiftCard.String(): 3,
	}
	if !maps.Equal(attempts, want) {
		t.Errorf("attempts of the subscriptions of order.placed: %v, want %v", attempts, want)
	}
}

func TestAnOrderWaitsForADeclaredSubscriptionThatNobodyHandlesYet(t *testing.T) {
	ctx, file := t.Context(), filepath.Join(t.TempDir(), "shop.db")
	publisher, err := events.Open(ctx, file)
	if err != nil {
		t.Fatal(err)
	}
	order := eventstest.SampleOrderPlaced()
	order.Number = 7
	if _, err := events.PublishOrderPlaced(ctx, publisher, order); err != nil {
		t.Fatal(err)
	}
	if err := publisher.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}

	bus, err := events.Open(ctx, file)
	if err != nil {
		t.Fatal(err)
	}
	defer bus.Shutdown(context.WithoutCancel(ctx))
	numbers := make(chan int64, 1)
	_, err = events.SubscribeOrderPlaced(bus, events.OnOrderPlacedSendReceipt,
		func(_ context.Context, e runtime.Event[events.OrderPlaced]) error {
			numbers <- e.Payload.Number
			return nil
		})
	if err != nil {
		t.Fatal(err)
	}
	if err := bus.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if got := <-numbers; got != 7 {
		t.Errorf("the receipt is for order %d, want 7", got)
	}
}

func TestCancellationsOfVersion1GetAReason(t *testing.T) {
	text := func(s string) *string { return &s }
	for _, test := range []struct {
		stored *string
		want   events.CancelReason
	}{
		{nil, events.CancelReasonCustomerRequest},
		{text("Changed my mind."), events.CancelReasonCustomerRequest},
		{text("The card was declined."), events.CancelReasonPaymentDeclined},
		{text("Out of stock."), events.CancelReasonOutOfStock},
	} {
		got, err := events.UpcastOrderCancelledV1(events.OrderCancelledV1{Reason: test.stored})
		if err != nil || got.Reason != test.want || got.Comment != test.stored {
			t.Errorf("%v, %v", got, err)
		}
	}
}
