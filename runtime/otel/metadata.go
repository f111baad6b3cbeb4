package busotel

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// w3c reads and writes trace contexts as the keys traceparent and tracestate of metadata.
var w3c propagation.TraceContext

// Longer values are not read: metadata may come from anywhere. A traceparent of the present
// version has 55 bytes, and a tracestate is passed on if it has 512 bytes or less.
const (
	traceParentLimit = 256
	traceStateLimit  = 8 << 10
)

const (
	traceParentKey = "traceparent"
	traceStateKey  = "tracestate"
)

// creationContext returns the context of the span that has published an event, by its
// metadata. It is not valid if there is none.
func creationContext(metadata map[string]string) trace.SpanContext {
	carrier := propagation.MapCarrier{}
	if parent := metadata[traceParentKey]; len(parent) <= traceParentLimit {
		carrier[traceParentKey] = parent
	}
	if state := metadata[traceStateKey]; len(state) <= traceStateLimit {
		carrier[traceStateKey] = state
	}
	return trace.SpanContextFromContext(w3c.Extract(context.Background(), carrier))
}

// metadataOf returns the metadata that says that a span has published an event.
func metadataOf(span trace.Span) map[string]string {
	carrier := propagation.MapCarrier{}
	w3c.Inject(trace.ContextWithSpan(context.Background(), span), carrier)
	return carrier
}
