package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/retry"
)

// shop has the handlers that do everything after a customer has ordered: each reacts to
// an event, and often publishes the next one.
type shop struct {
	bus      *runtime.Bus
	promises *promises
	ledger   ledger
	bank     bank
	mail     mailProvider
	audit    audit
	books    *books
	notes    creditNotes
	outside  fulfilment

	schedule *schedule // nil unless the settings follow a file
}

// subscribe connects the handlers. The names are durable: the file remembers for
// each what it has settled, and the next run goes on from there. The constants
// are names that the catalogue declares; the texts are known to this program only.
func (s *shop) subscribe() error {
	// The delays of the catalogue are made for real outages, seconds and minutes.
	// This overrides the first delay, and for how long a breaker is open, so that a demo ends soon.
	soon, briefly := runtime.WithRetry(retry.BaseDelay(100*time.Millisecond)), runtime.WithBreaker(breaker.OpenFor(time.Second))
	if s.schedule != nil {
		soon, briefly = runtime.WithRetry(), runtime.WithBreaker() // the file says it all
	}

	// Eight handlers charge cards, and four of them ask the bank at once: charge-card has the limit bank.
	_, charge := events.SubscribeOrderPlaced(s.bus, events.OnOrderPlacedChargeCard, s.chargeCard, soon, briefly, runtime.WithConcurrency(8))
	_, receipt := events.SubscribeOrderPlaced(s.bus, events.OnOrderPlacedSendReceipt, s.sendReceipt, soon)
	_, gift := events.SubscribeOrderPlaced(s.bus, events.OnOrderPlacedPrintGiftCard, s.printGiftCard, soon)
	_, ship := events.SubscribePayment(s.bus, "ship-or-cancel", s.shipOrCancel, soon, runtime.WithConcurrency(8))
	var carriers []error
	for _, c := range allCarriers {
		_, err := events.AnswerParcelPickup(s.bus, "pickup-"+string(c.name), c.offer, soon, runtime.WithConcurrency(8))
		carriers = append(carriers, err)
	}
	_, booked := runtime.SubscribeBatch(s.bus, events.PaymentCapturedType, events.OnPaymentCapturedKeepBooks.String(), s.books.keep, soon)
	_, posted := runtime.SubscribeTx(s.bus, events.PaymentRefundedType, "post-refund", s.postRefund, soon)
	_, written := events.SubscribePaymentRefunded(s.bus, events.OnPaymentRefundedWriteCreditNote, s.notes.write, soon)
	_, sent := events.SubscribePaymentRefunded(s.bus, events.OnPaymentRefundedSendCreditNote, s.notes.send, soon)
	_, report := events.SubscribeReportRequested(s.bus, events.OnReportRequestedWriteReport, s.writeReport, soon)
	_, fulfil := events.SubscribeOrderBackordered(s.bus, events.OnOrderBackorderedFulfil, s.outside.fulfil, soon)
	_, supply := runtime.Subscribe(s.bus, events.OrderBackorderedType, "supplier", s.supplier, soon)
	_, audit := events.SubscribeAll(s.bus, "audit", s.audit.record, soon, runtime.FromBeginning())
	return errors.Join(append(carriers, charge, receipt, gift, ship, booked, posted, written, sent, report, fulfil, supply, audit)...)
}

// chargeCard fails twice for some orders, and then works: that is what retries
// are for. The payment is published with the handler's own ctx, so it becomes
// visible together with the handler's success, as do refunds and the line in the ledger. A
// failed attempt leaves no trace.
//
// The bank takes its time, and all writers of the file wait for a transaction. So this is
// no transactional handler: it leaves its line for the end.
func (s *shop) chargeCard(ctx context.Context, e runtime.Event[events.OrderPlaced]) error {
	order := e.Payload
	reference, err := s.bank.charge(ctx, order, e.Attempt)
	if declined, ok := errors.AsType[*declinedError](err); ok {
		// An answer, not a failure: to ask again would not change it.
		_, err = events.PublishPaymentDeclined(ctx, s.bus, events.PaymentDeclined{
			OrderID: order.OrderID, Reason: declined.reason,
		})
		return err
	}
	if err != nil {
		return fmt.Errorf("charge the card: %w", err)
	}
	_, err = events.PublishPaymentCaptured(ctx, s.bus, events.PaymentCaptured{
		OrderID: order.OrderID, Amount: order.Total, Reference: reference,
	})
	for _, coupon := range couponsOf(order) {
		_, failed := events.PublishPaymentRefunded(ctx, s.bus, coupon)
		err = errors.Join(err, failed)
	}
	if err != nil {
		return err
	}
	return runtime.Atomically(ctx, func(tx runtime.Tx) error {
		return post(ctx, tx, e.ID, order.OrderID, order.Total.Amount, reference)
	})
}

// sendReceipt fails for ever for customers of one mail provider. After the last
// attempt the event becomes a dead letter of this subscription; the card is
// charged all the same, because subscriptions do not depend on each other.
func (s *shop) sendReceipt(ctx context.Context, e runtime.Event[events.OrderPlaced]) error {
	text := fmt.Sprintf("Dear %s, thank you for order %d.", e.Payload.Customer.Name, e.Payload.Number)
	if err := s.mail.send(ctx, e.Payload.Customer.Email, text); err != nil {
		s.schedule.failed(e)
		return fmt.Errorf("send the receipt: %w", err)
	}
	return nil
}

// printGiftCard has a bug, and the bus survives it. The generated field is a pointer,
// because the catalogue says string?, and the handler does not check it for nil.
func (s *shop) printGiftCard(_ context.Context, e runtime.Event[events.OrderPlaced]) error {
	if gift := e.Payload.Gift; gift != nil {
		return printCard(*gift.Message)
	}
	return nil
}

// shipOrCancel handles a whole namespace. PaymentEvent is sealed: a case that is
// not an event of payment.* does not compile.
func (s *shop) shipOrCancel(ctx context.Context, e runtime.Event[events.PaymentEvent]) error {
	switch payment := e.Payload.(type) {
	case events.PaymentCaptured:
		// All carriers are asked at once, and the first to answer gets the parcel. This handler
		// waits meanwhile, and its worker is lent to theirs.
		pickup, err := events.RequestParcelPickup(ctx, s.bus, events.ParcelPickup{OrderID: payment.OrderID})
		if err != nil {
			return fmt.Errorf("find a carrier: %w", err)
		}
		_, err = events.PublishOrderShipped(ctx, s.bus, events.OrderShipped{
			OrderID: payment.OrderID, Carrier: pickup.Carrier, TrackingCode: pickup.TrackingCode, ExpectedOn: pickup.ExpectedOn,
		})
		return err
	case events.PaymentDeclined:
		_, err := events.PublishOrderCancelled(ctx, s.bus, events.OrderCancelled{
			OrderID: payment.OrderID, Reason: events.CancelReasonPaymentDeclined,
		})
		return err
	}
	return nil // refunds need no parcel
}
