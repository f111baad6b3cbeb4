package busotel_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
	busotel "github.com/busgen/busgen/runtime/otel"
	"github.com/busgen/busgen/runtime/retry"
)

// measured returns the data points of all metrics as lines, without what is the same for all.
func measured(t *testing.T, reader sdkmetric.Reader) (lines []string) {
	var all metricdata.ResourceMetrics
	conformance.Must(t, reader.Collect(t.Context(), &all))
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			name := m.Name + " " + m.Unit
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					lines = append(lines, fmt.Sprintln(name, p.Value, texts(p.Attributes.ToSlice())))
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					lines = append(lines, fmt.Sprintln(name, p.Count, p.Sum, texts(p.Attributes.ToSlice())))
				}
			default:
				t.Errorf("%s has %T", m.Name, data)
			}
		}
	}
	for i, line := range lines {
		line = strings.ReplaceAll(line, "messaging.system=busgen", "S")
		lines[i] = strings.TrimSpace(strings.ReplaceAll(strings.ReplaceAll(line, "messaging.destination.", ""), "messaging.", ""))
	}
	slices.Sort(lines)
	return lines
}

func TestTheMetricsFollowTheConventions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader := sdkmetric.NewManualReader()
		f := conformance.SQLite.Open(t, runtime.WithPayloadLimit(500), busotel.Instrument(
			busotel.WithTracerProvider(nil), busotel.WithMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))))
		f.Handle("reader", func(_ context.Context, e placed) error {
			time.Sleep(time.Second)
			if e.Payload.Number == 2 {
				return conformance.ErrBoom
			}
			return nil
		}, runtime.WithRetry(retry.MaxAttempts(2)))
		f.Batches("export", func(context.Context, []placed) error { time.Sleep(2 * time.Second); return nil }, runtime.WithBatch(2, time.Minute))
		f.MustStart()
		f.Handle("tab-4711", func(context.Context, placed) error { return nil }, runtime.Ephemeral())
		f.Publish(1, 2)
		_, err := runtime.Publish(t.Context(), f.Bus, conformance.PaidType, conformance.OrderPaid{OrderID: strings.Repeat("x", 1000)})
		if err == nil {
			t.Fatal("a payload that is too large was stored")
		}
		f.Idle()
		synctest.Wait()
		want := []string{
			"busgen.dead_letters {delivery} 1 [busgen.reason=max_attempts name=order.placed subscription.name=reader]",
			"client.consumed.messages {message} 1 [busgen.outcome=dead error.type=error name=order.placed subscription.name=reader operation.name=process S]",
			"client.consumed.messages {message} 1 [busgen.outcome=handled name=order.placed subscription.name=reader operation.name=process S]",
			"client.consumed.messages {message} 1 [busgen.outcome=retried error.type=error name=order.placed subscription.name=reader operation.name=process S]",
			"client.consumed.messages {message} 2 [busgen.ephemeral=true busgen.outcome=handled name=order.placed operation.name=process S]",
			"client.consumed.messages {message} 2 [busgen.outcome=handled name=order.placed subscription.name=export operation.name=process S]",
			"client.operation.duration s 1 0 [error.type=*runtime.PayloadTooLargeError name=order.paid operation.name=publish operation.type=send S]",
			"client.operation.duration s 2 0 [name=order.placed operation.name=publish operation.type=send S]",
			"client.sent.messages {message} 1 [error.type=*runtime.PayloadTooLargeError name=order.paid operation.name=publish S]",
			"client.sent.messages {message} 2 [name=order.placed operation.name=publish S]",
			"process.duration s 1 1 [busgen.outcome=dead error.type=error name=order.placed subscription.name=reader operation.name=process S]",
			"process.duration s 1 1 [busgen.outcome=handled name=order.placed subscription.name=reader operation.name=process S]",
			"process.duration s 1 1 [busgen.outcome=retried error.type=error name=order.placed subscription.name=reader operation.name=process S]",
			"process.duration s 1 2 [name=order.placed subscription.name=export operation.name=process S]",
			"process.duration s 2 0 [busgen.ephemeral=true busgen.outcome=handled name=order.placed operation.name=process S]",
		}
		slices.Sort(want)
		if diff := cmp.Diff(want, measured(t, reader)); diff != "" {
			t.Error(diff)
		}
	})
}
