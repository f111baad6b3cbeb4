package busotel_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
)

// A trace begins with a request, and goes on through two attempts that fail, a restart, the
// attempt that succeeds, and the event that it publishes.
func TestOneTraceGoesFromARequestThroughFailuresAndARestartToAChild(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		traces := newTraces(t)
		target := conformance.SQLite.Target(t)
		works := false
		open := func() *conformance.Fixture {
			f := conformance.SQLite.Reopen(t, target, traces.option())
			f.Handle("pay", func(ctx context.Context, e runtime.Event[conformance.OrderPlaced]) error {
				if !works {
					return runtime.RetryAfter(time.Hour, conformance.ErrBoom)
				}
				_, err := runtime.Publish(ctx, f.Bus, conformance.PaidType, conformance.OrderPaid{OrderID: e.Payload.OrderID})
				return err
			})
			_, err := runtime.Subscribe(f.Bus, conformance.PaidType, "ship", func(context.Context, runtime.Event[conformance.OrderPaid]) error { return nil })
			conformance.Must(t, err)
			f.MustStart()
			return f
		}
		f := open()
		shop := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			// As the instrumentation of an HTTP server does it.
			ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
			ctx, span := traces.provider.Tracer("http").Start(ctx, "POST /orders", trace.WithSpanKind(trace.SpanKindServer))
			defer span.End()
			if _, err := runtime.Publish(ctx, f.Bus, conformance.PlacedType, conformance.OrderPlaced{OrderID: "A"}); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
			}
		})
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/orders", nil)
		r.Header.Set("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
		r.Header.Set("tracestate", "rojo=1")
		w := httptest.NewRecorder()
		shop.ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			t.Fatal(w.Body)
		}
		time.Sleep(90 * time.Minute) // two attempts
		f.Stop()
		works = true
		f = open()
		f.Idle()

		traces.are(
			"POST /orders < ",
			"publish order.placed < POST /orders",
			"process order.placed by pay #1 retried < publish order.placed ~ publish order.placed",
			"process order.placed by pay #2 retried < publish order.placed ~ publish order.placed, process order.placed by pay #1",
			"process order.placed by pay #3 handled < publish order.placed ~ publish order.placed",
			"publish order.paid < process order.placed by pay #3",
			"process order.paid by ship #1 handled < publish order.paid ~ publish order.paid",
		)
		for _, span := range traces.spans() {
			if got := span.SpanContext.TraceID().String(); got != "0af7651916cd43dd8448eb211c80319c" {
				t.Errorf("%s is of the trace %s", span.Name, got)
			}
			if got := span.SpanContext.TraceState().String(); got != "rojo=1" {
				t.Errorf("%s has the tracestate %q", span.Name, got)
			}
		}
	})
}
