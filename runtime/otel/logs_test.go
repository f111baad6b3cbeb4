package busotel_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
	busotel "github.com/busgen/busgen/runtime/otel"
)

func TestLogLinesAboutAnAttemptHaveItsSpan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		logger := slog.New(busotel.LogHandler(slog.NewJSONHandler(&out, nil)))
		traces := newTraces(t)
		f := conformance.SQLite.Open(t, traces.option(), runtime.WithLogger(logger))
		f.Handle("reader", func(ctx context.Context, e placed) error {
			runtime.Logger(e).Info("by the logger of the event")
			runtime.Logger(e).InfoContext(ctx, "by it, with the context")
			logger.InfoContext(ctx, "by another logger")
			logger.Info("by another logger, without")
			return runtime.Permanent(conformance.ErrBoom)
		})
		f.MustStart()
		f.Publish(1)
		f.Idle()
		f.Stop()
		span := traces.span("process order.placed")
		want := map[string]int{
			"by the logger of the event": 1, "by it, with the context": 1, "by another logger": 1, "by another logger, without": 0,
			"event handler failed": 1, "event is dead-lettered": 1,
		}
		for _, line := range bytes.Split(bytes.TrimSpace(out.Bytes()), []byte("\n")) {
			var fields map[string]any
			conformance.Must(t, json.Unmarshal(line, &fields))
			times, known := want[fields["msg"].(string)]
			if !known {
				continue
			}
			delete(want, fields["msg"].(string))
			if got := bytes.Count(line, []byte(`"trace_id"`)); got != times {
				t.Errorf("trace_id is there %d times, want %d: %s", got, times, line)
			}
			if times > 0 && (fields["trace_id"] != span.SpanContext.TraceID().String() || fields["span_id"] != span.SpanContext.SpanID().String() || fields["trace_flags"] != "01") {
				t.Errorf("the span is another: %s", line)
			}
		}
		if len(want) > 0 {
			t.Errorf("there are no lines %v", want)
		}
	})
}
