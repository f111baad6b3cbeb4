package busotel

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/semconv/v1.43.0/messagingconv"
	"go.opentelemetry.io/otel/trace"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/observe"
)

// instrument observes a bus.
type instrument struct {
	tracer  trace.Tracer // nil without
	metrics *metrics     // nil without
	apart   bool         // retries begin traces of their own
	earlier earlier
}

// publishing makes the span of a call that publishes, and puts its context into the metadata
// of the events.
func (in *instrument) publishing(ctx context.Context, i observe.PublishingInfo) (left observe.Publishing) {
	began := time.Now()
	span := trace.SpanFromContext(context.Background()) // of nothing
	if in.tracer != nil {
		given, hasOwn := i.Metadata[traceParentKey]
		attributes := operation(publish, messagingconv.OperationTypeSend, i.Type)
		if i.Size > 1 {
			attributes = append(attributes, semconv.MessagingBatchMessageCount(i.Size))
		}
		if id := i.Metadata[event.CorrelationKey]; id != "" {
			attributes = append(attributes, semconv.MessagingMessageConversationID(plain(id)))
		}
		if i.Staged {
			attributes = append(attributes, stagedKey.Bool(true))
		}
		options := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindProducer), trace.WithAttributes(attributes...)}
		if hasOwn {
			options[0] = trace.WithSpanKind(trace.SpanKindClient) // its context is not that of the event
			own := creationContext(map[string]string{traceParentKey: given, traceStateKey: i.Metadata[traceStateKey]})
			if own.IsValid() {
				options = append(options, trace.WithLinks(trace.Link{SpanContext: own}))
			}
		}
		_, span = in.tracer.Start(ctx, publish+" "+i.Type, options...)
		if !hasOwn && span.SpanContext().IsValid() {
			left.Metadata = metadataOf(span)
		}
	}
	left.Ended = func(end observe.PublishEnd) {
		in.published(span, i, end)
		if in.metrics != nil {
			in.metrics.published(span, i, end, time.Since(began))
		}
	}
	return left
}

// published ends the span.
func (in *instrument) published(span trace.Span, i observe.PublishingInfo, end observe.PublishEnd) {
	defer span.End()
	if !span.IsRecording() {
		return
	}
	if end.Err != nil {
		span.SetAttributes(errorType(end.Err))
		span.SetStatus(codes.Error, plain(end.Err.Error()))
		return
	}
	if i.Size == 1 {
		span.SetAttributes(semconv.MessagingMessageID(end.ID.String()))
	}
	if end.Duplicates > 0 {
		span.SetAttributes(duplicatesKey.Int(end.Duplicates))
	}
}

// errorType returns the attribute that says which error it is: the Go type.
func errorType(err error) attribute.KeyValue { return semconv.ErrorType(err) }
