package busotel_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
)

func TestAPublishSpanFollowsTheConventions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		traces := newTraces(t)
		f := traces.open()
		receipt, err := runtime.Publish(t.Context(), f.Bus, conformance.PlacedType, conformance.OrderPlaced{},
			runtime.WithCorrelationID("checkout-5"), runtime.WithDedupeKey("k"))
		conformance.Must(t, err)
		span := traces.span("publish order.placed")
		want := []string{
			"messaging.destination.name=order.placed", "messaging.message.conversation_id=checkout-5", "messaging.message.id=" + receipt.ID.String(),
			"messaging.operation.name=publish", "messaging.operation.type=send", "messaging.system=busgen",
		}
		if diff := cmp.Diff(want, texts(span.Attributes)); diff != "" {
			t.Error(diff)
		}
		if span.SpanKind != trace.SpanKindProducer || span.Status.Code != codes.Unset {
			t.Errorf("the kind is %v, the status %v", span.SpanKind, span.Status)
		}
		if scope := span.InstrumentationScope; scope.SchemaURL != "https://opentelemetry.io/schemas/1.43.0" {
			t.Errorf("the scope is %+v", scope)
		}
		_, err = runtime.Publish(t.Context(), f.Bus, conformance.PlacedType, conformance.OrderPlaced{}, runtime.WithDedupeKey("k"))
		conformance.Must(t, err)
		traces.span("publish order.placed", "busgen.duplicates=1", "messaging.message.id="+receipt.ID.String())
	})
}

func TestABatchThatIsPublishedHasOneSpan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		traces := newTraces(t)
		f := traces.open()
		f.Handle("reader", func(context.Context, runtime.Event[conformance.OrderPlaced]) error { return nil })
		f.MustStart()
		_, err := runtime.PublishBatch(t.Context(), f.Bus, conformance.PlacedType, []conformance.OrderPlaced{{Number: 1}, {Number: 2}})
		conformance.Must(t, err)
		f.Idle()
		traces.are(
			"publish order.placed",
			"process order.placed by reader #1 handled < publish order.placed ~ publish order.placed",
			"process order.placed by reader #1 handled < publish order.placed ~ publish order.placed",
		)
		traces.span("publish order.placed", "messaging.batch.message_count=2")
	})
}

func TestASpanOfACallThatFailsSaysWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		traces := newTraces(t)
		f := conformance.SQLite.Open(t, traces.option(), runtime.WithPayloadLimit(500),
			runtime.WithPublishMiddleware(func(_ context.Context, p *runtime.Publication) error {
				if p.Type == "order.paid" {
					return errors.New("not \xff today")
				}
				return nil
			}))
		_, err := runtime.Publish(t.Context(), f.Bus, conformance.PlacedType, conformance.OrderPlaced{OrderID: strings.Repeat("x", 1000)})
		if err == nil {
			t.Fatal("a payload that is too large was stored")
		}
		span := traces.span("publish order.placed", "error.type=*runtime.PayloadTooLargeError")
		if span.Status.Code != codes.Error || span.Status.Description != err.Error() {
			t.Errorf("the status is %+v", span.Status)
		}
		_, err = runtime.Publish(t.Context(), f.Bus, conformance.PaidType, conformance.OrderPaid{})
		if err == nil {
			t.Fatal("an event that was refused was stored")
		}
		if span := traces.span("publish order.paid"); !strings.HasSuffix(span.Status.Description, "not � today") {
			t.Errorf("the status is %+v", span.Status)
		}
	})
}

// The conventions: a creation context of the program's own is not to be modified.
func TestATraceparentOfTheProgramStaysAndIsLinked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const own = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
		traces := newTraces(t)
		f := traces.open()
		var stored []string
		f.Handle("reader", func(_ context.Context, e runtime.Event[conformance.OrderPlaced]) error {
			stored = append(stored, e.Metadata["traceparent"]+e.Metadata["tracestate"])
			return nil
		})
		f.MustStart()
		carrier := propagation.MapCarrier{"traceparent": "00-11111111111111111111111111111111-2222222222222222-01", "tracestate": "other=1"}
		ctx := propagation.TraceContext{}.Extract(t.Context(), carrier) // whose state is not that of the event
		_, err := runtime.Publish(ctx, f.Bus, conformance.PlacedType, conformance.OrderPlaced{}, runtime.WithMetadata(map[string]string{"traceparent": own}))
		conformance.Must(t, err)
		f.Idle()
		if !slices.Equal(stored, []string{own}) {
			t.Errorf("the event has %q", stored)
		}
		span := traces.span("publish order.placed")
		if span.SpanKind != trace.SpanKindClient || len(span.Links) != 1 || span.Links[0].SpanContext.SpanID().String() != "b7ad6b7169203331" {
			t.Errorf("the span is %v with the links %+v", span.SpanKind, span.Links)
		}
		if handled := traces.span("process order.placed"); handled.Parent.SpanID().String() != "b7ad6b7169203331" {
			t.Errorf("the parent is %v", handled.Parent.SpanID())
		}
	})
}
