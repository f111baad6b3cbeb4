package busotel_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/conformance"
	busotel "github.com/busgen/busgen/runtime/otel"
	"github.com/busgen/busgen/runtime/retry"
)

type placed = runtime.Event[conformance.OrderPlaced]

func TestASpanOfAnAttemptFollowsTheConventions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		traces := newTraces(t)
		f := traces.open()
		f.Handle("reader", func(context.Context, placed) error {
			time.Sleep(time.Second)
			return conformance.ErrBoom
		}, runtime.WithRetry(retry.MaxAttempts(2)), runtime.InGroup("group"))
		f.MustStart()
		began := time.Now()
		receipt := f.Publish(1)[0]
		f.Idle()
		first := traces.span("process order.placed", "busgen.attempt=1")
		want := []string{
			"busgen.attempt=1", "busgen.due=" + began.Add(2*time.Second).UTC().Format(time.RFC3339Nano), "busgen.outcome=retried", "error.type=error",
			"messaging.consumer.group.name=group", "messaging.destination.name=order.placed", "messaging.destination.subscription.name=reader",
			"messaging.message.id=" + receipt.ID.String(), "messaging.operation.name=process", "messaging.operation.type=process", "messaging.system=busgen",
		}
		if diff := cmp.Diff(want, texts(first.Attributes)); diff != "" {
			t.Error(diff)
		}
		if first.SpanKind != trace.SpanKindConsumer || first.Status.Code != codes.Error || first.Status.Description != "boom" {
			t.Errorf("the kind is %v, the status %+v", first.SpanKind, first.Status)
		}
		if took := first.EndTime.Sub(first.StartTime); took != time.Second {
			t.Errorf("it took %v", took)
		}
		traces.span("process order.placed", "busgen.attempt=2", "busgen.outcome=dead", "busgen.reason=max_attempts", "error.type=error")
	})
}

func TestRetriesMayBeginTracesOfTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		traces := newTraces(t)
		f := traces.open(busotel.WithRetriesApart())
		f.Handle("reader", func(_ context.Context, e placed) error {
			if e.Attempt == 1 {
				return conformance.ErrBoom
			}
			return nil
		})
		f.MustStart()
		f.Publish(1)
		f.Idle()
		traces.are(
			"publish order.placed",
			"process order.placed by reader #1 retried < publish order.placed ~ publish order.placed",
			"process order.placed by reader #2 handled ~ publish order.placed, process order.placed by reader #1",
		)
		second := traces.span("process order.placed", "busgen.attempt=2")
		if second.SpanContext.TraceID() == traces.span("publish order.placed").SpanContext.TraceID() {
			t.Error("the retry is of the same trace")
		}
	})
}

func TestAnAttemptThatEndsOtherwiseSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		traces := newTraces(t)
		f := traces.open()
		f.Handle("reader", func(ctx context.Context, e placed) error {
			switch n := e.Payload.Number; {
			case n == 1 && e.Attempt == 1:
				return runtime.Snooze(time.Minute)
			case n == 2:
				return runtime.Discard("not ours")
			case n == 3:
				panic("oh")
			case n == 4: // outlives its time, and is left behind
				time.Sleep(time.Hour)
			}
			return nil
		}, runtime.WithRetry(retry.MaxAttempts(1)))
		f.MustStart()
		for n := range 4 {
			f.Publish(n + 1)
			f.Idle()
		}
		traces.span("process order.placed", "busgen.outcome=snoozed")
		snoozed := traces.span("process order.placed", "busgen.attempt=2", "busgen.outcome=handled")
		if len(snoozed.Links) != 2 || snoozed.Status.Code != codes.Unset {
			t.Errorf("the attempt after the snooze has the links %v", snoozed.Links)
		}
		if d := traces.span("process order.placed", "busgen.outcome=discarded", "busgen.reason=not ours"); d.Status.Code != codes.Unset {
			t.Errorf("the status is %v", d.Status)
		}
		traces.span("process order.placed", "busgen.outcome=dead", "error.type=panic")
		late := traces.span("process order.placed", "busgen.outcome=dead", "error.type=timeout")
		if took := late.EndTime.Sub(late.StartTime); took != 30*time.Second {
			t.Errorf("a handler that hangs has a span of %v", took)
		}
		time.Sleep(time.Hour) // until it returns
	})
}

func TestACancelledEventsAttemptIsDiscarded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		traces := newTraces(t)
		f := traces.open()
		f.Handle("reader", func(context.Context, placed) error {
			time.Sleep(time.Second)
			return conformance.ErrBoom
		})
		f.MustStart()
		receipt := f.Publish(1)[0]
		synctest.Wait()
		if err := receipt.Cancel(t.Context()); !errors.As(err, new(*event.BegunError)) {
			t.Fatal(err)
		}
		f.Idle()
		span := traces.span("process order.placed")
		if got := value(span.Attributes, "busgen.outcome") + " " + value(span.Attributes, "busgen.reason"); got != "discarded cancelled" {
			t.Errorf("the outcome is %q", got)
		}
		delayed, err := runtime.Publish(t.Context(), f.Bus, conformance.PlacedType, conformance.OrderPlaced{}, runtime.WithDelay(time.Hour))
		conformance.Must(t, err)
		conformance.Must(t, delayed.Cancel(t.Context()))
		f.Idle()
		traces.span("process order.placed") // no other: nothing was handled
	})
}

func TestABatchHasOneSpanThatIsLinkedToItsEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		traces := newTraces(t)
		f := traces.open()
		f.Batches("export", func(ctx context.Context, events []placed) error {
			if len(events) == 1 {
				return nil
			}
			_, err := runtime.Publish(ctx, f.Bus, conformance.PaidType, conformance.OrderPaid{}, runtime.Immediately())
			conformance.Must(t, err)
			var failed runtime.BatchError
			failed.Set(1, conformance.ErrBoom)
			return failed.Err()
		}, runtime.WithBatch(3, time.Second))
		f.MustStart()
		receipts := f.Publish(1, 2, 3)
		f.Idle()
		span := traces.span("process order.placed", "messaging.batch.message_count=3", "busgen.batch.done=2", "busgen.batch.failed=1", "error.type=batch")
		if span.Parent.IsValid() || len(span.Links) != 3 || span.Status.Code != codes.Error {
			t.Errorf("the span is %+v", span)
		}
		for i, link := range span.Links {
			if !slices.Contains(texts(link.Attributes), "messaging.message.id="+receipts[i].ID.String()) {
				t.Errorf("link %d has %v", i, texts(link.Attributes))
			}
		}
		if len(span.Events) != 1 || !slices.Contains(texts(span.Events[0].Attributes), "messaging.message.id="+receipts[1].ID.String()) ||
			!slices.Contains(texts(span.Events[0].Attributes), "busgen.outcome=retried") {
			t.Errorf("the events of the span are %+v", span.Events)
		}
		if child := traces.span("publish order.paid"); child.Parent.SpanID() != span.SpanContext.SpanID() {
			t.Error("what the handler publishes is no child of the batch")
		}
		traces.span("process order.placed", "messaging.batch.message_count=1", "busgen.batch.done=1")
	})
}

func TestEachMemberOfAGroupHasASpan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		traces := newTraces(t)
		f := traces.open()
		for _, member := range []string{"first", "second"} {
			f.Handle(member, func(context.Context, placed) error { return nil }, runtime.InGroup("refunds"))
		}
		f.MustStart()
		f.Publish(1)
		f.Idle()
		for _, member := range []string{"first", "second"} {
			span := traces.span("process order.placed", "messaging.destination.subscription.name="+member, "messaging.consumer.group.name=refunds")
			if span.Parent.SpanID() != traces.span("publish order.placed").SpanContext.SpanID() {
				t.Errorf("%s is no child of the publisher", member)
			}
		}
	})
}

func TestAHandlerThatAnswersIsAChildOfTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		traces := newTraces(t)
		f := traces.open()
		_, err := runtime.SubscribeAnswer(f.Bus, conformance.PlacedType, "price", func(ctx context.Context, e placed) (int, error) {
			if !trace.SpanContextFromContext(ctx).IsValid() {
				t.Error("the handler has no span")
			}
			return 7, nil
		})
		conformance.Must(t, err)
		f.MustStart()
		price, err := runtime.Request[int](t.Context(), f.Bus, conformance.PlacedType, conformance.OrderPlaced{})
		conformance.Must(t, err)
		f.Idle()
		if price != 7 {
			t.Errorf("the answer is %d", price)
		}
		traces.are("publish order.placed", "process order.placed by price #1 handled < publish order.placed ~ publish order.placed")
	})
}

func TestATransactionalHandlerHasASpanAroundItsTransaction(t *testing.T) {
	traces := newTraces(t)
	f := traces.open()
	_, err := runtime.DB(f.Bus).ExecContext(t.Context(), "CREATE TABLE orders (number INTEGER) STRICT")
	conformance.Must(t, err)
	_, err = runtime.SubscribeTx(f.Bus, conformance.PlacedType, "book", func(ctx context.Context, tx runtime.Tx, e placed) error {
		if !trace.SpanContextFromContext(ctx).IsValid() {
			t.Error("the handler has no span")
		}
		if _, err := runtime.Publish(ctx, tx, conformance.PaidType, conformance.OrderPaid{}); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO orders (number) VALUES (?)", e.Payload.Number)
		return err
	})
	conformance.Must(t, err)
	f.MustStart()
	f.Publish(1)
	f.Idle()
	traces.are(
		"publish order.placed", "process order.placed by book #1 handled < publish order.placed ~ publish order.placed",
		"publish order.paid < process order.placed by book #1",
	)
}

func TestAnEphemeralSubscriptionHasSpans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		traces := newTraces(t)
		f := traces.open()
		f.MustStart()
		f.Handle("tab", func(context.Context, placed) error { return nil }, runtime.Ephemeral())
		f.Publish(1)
		synctest.Wait()
		traces.span("process order.placed", "busgen.ephemeral=true", "messaging.destination.subscription.name=tab", "busgen.outcome=handled")
	})
}

func TestADeadLetterThatWasNotTriedHasASpanOfSettling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		traces := newTraces(t)
		f := traces.open()
		f.Handle("reader", func(context.Context, placed) error { return nil })
		_, err := runtime.SubscribeDead(f.Bus, conformance.PlacedType, "alarm", func(context.Context, runtime.Event[runtime.DeadLetter[conformance.OrderPlaced]]) error { return nil })
		conformance.Must(t, err)
		_, err = runtime.Publish(t.Context(), f.Bus, conformance.PlacedType, conformance.OrderPlaced{}, runtime.WithExpiry(time.Second))
		conformance.Must(t, err)
		time.Sleep(time.Minute)
		f.MustStart()
		f.Idle()
		span := traces.span("settle order.placed", "busgen.outcome=dead", "busgen.reason=expired", "error.type=expired", "messaging.operation.type=settle")
		if span.SpanKind != trace.SpanKindClient || span.Status.Code != codes.Error {
			t.Errorf("the span is %v, with the status %v", span.SpanKind, span.Status)
		}
		traces.are( // the notice belongs to the trace of its event
			"publish order.placed", "settle order.placed by reader #1 dead < publish order.placed ~ publish order.placed",
			"process $dead.order.placed by alarm #1 handled < publish order.placed ~ publish order.placed",
		)
	})
}

func TestAnEventThatCannotBeDecodedHasASpan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		traces := newTraces(t)
		f := traces.open()
		f.Handle("reader", func(context.Context, placed) error { return nil })
		f.MustStart()
		f.PublishRaw(conformance.PlacedType, `{"number": "seven`+strings.Repeat("x", 5000)+`"}`)
		f.Idle()
		span := traces.span("process order.placed", "busgen.outcome=dead", "busgen.reason=decode", "error.type=decode")
		if n := len(span.Status.Description); n == 0 || n > 1100 {
			t.Errorf("the status has %d bytes", n)
		}
	})
}
