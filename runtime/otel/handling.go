package busotel

import (
	"context"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/semconv/v1.43.0/messagingconv"
	"go.opentelemetry.io/otel/trace"

	"github.com/busgen/busgen/runtime/observe"
)

// handling makes the span of an attempt.
func (in *instrument) handling(ctx context.Context, i observe.HandlingInfo) (left observe.Handling) {
	span := trace.SpanFromContext(context.Background()) // of nothing
	if in.tracer != nil {
		within, made := in.start(ctx, i)
		span = made
		if sc := span.SpanContext(); sc.IsValid() {
			left.Context, left.Logged = within, logged(sc)
		}
	}
	left.Ended = func(end observe.EndedInfo) {
		in.ended(span, i, end)
		if in.metrics != nil {
			in.metrics.ended(span, i, end)
		}
	}
	left.Step = func(ctx context.Context, step observe.StepInfo) (context.Context, func(observe.StepEnd)) {
		return in.step(ctx, i, step)
	}
	return left
}

// start starts the span. Of a delivery whose handler is not called it is one of settling.
func (in *instrument) start(ctx context.Context, i observe.HandlingInfo) (context.Context, trace.Span) {
	name, kind := process, messagingconv.OperationTypeProcess
	options := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindConsumer)}
	if i.Started.IsZero() {
		name, kind = settle, messagingconv.OperationTypeSettle
		options[0] = trace.WithSpanKind(trace.SpanKindClient)
	} else {
		options = append(options, trace.WithTimestamp(i.Started))
	}
	attributes := append(operation(name, kind, i.Type), subscription(i.AttemptInfo, false)...)
	if i.Batch {
		attributes = append(attributes, semconv.MessagingBatchMessageCount(i.Size()))
		options = append(options, trace.WithNewRoot())
		for e := range i.Events() {
			if sc := creationContext(e.Metadata()); sc.IsValid() {
				id := semconv.MessagingMessageID(e.Info.ID.String())
				options = append(options, trace.WithLinks(trace.Link{SpanContext: sc, Attributes: []attribute.KeyValue{id, attemptKey.Int(e.Info.Attempt)}}))
			}
		}
		return in.tracer.Start(ctx, name+" "+i.Type, append(options, trace.WithAttributes(attributes...))...)
	}
	for e := range i.Events() {
		attributes = append(attributes, semconv.MessagingMessageID(i.ID.String()), attemptKey.Int(i.Attempt))
		if id := e.CorrelationID(); id != "" {
			attributes = append(attributes, semconv.MessagingMessageConversationID(plain(id)))
		}
		if e.Replayed() {
			attributes = append(attributes, replayedKey.Bool(true))
		}
		if sc := creationContext(e.Metadata()); sc.IsValid() {
			options = append(options, trace.WithLinks(trace.Link{SpanContext: sc}))
			if in.apart && i.Attempt > 1 {
				options = append(options, trace.WithNewRoot())
			} else {
				ctx = trace.ContextWithRemoteSpanContext(ctx, sc)
			}
		}
		if sc := in.earlier.take(i.AttemptInfo); sc.IsValid() {
			options = append(options, trace.WithLinks(trace.Link{SpanContext: sc}))
		}
	}
	return in.tracer.Start(ctx, name+" "+i.Type, append(options, trace.WithAttributes(attributes...))...)
}

// ended ends the span: of a batch when all of it is over.
func (in *instrument) ended(span trace.Span, i observe.HandlingInfo, end observe.EndedInfo) {
	if i.Batch && end.Batch == nil && !i.Started.IsZero() && end.Outcome != observe.OutcomeReleased {
		in.endedItem(span, end)
		return
	}
	defer span.End()
	switch {
	case !i.Batch && (end.Outcome == observe.OutcomeRetried || end.Outcome == observe.OutcomeSnoozed || end.Outcome == observe.OutcomeSuspended || end.Outcome == observe.OutcomeReleased):
		in.earlier.put(end.AttemptInfo, span.SpanContext())
	}
	if !span.IsRecording() {
		return
	}
	if b := end.Batch; b != nil {
		span.SetAttributes(batchDoneKey.Int(b.Done), batchFailedKey.Int(b.Failed))
		switch {
		case b.TimedOut:
			span.SetAttributes(semconv.ErrorTypeKey.String("timeout"))
			span.SetStatus(codes.Error, "the batch has outlived its deadline")
		case b.Failed > 0:
			span.SetAttributes(semconv.ErrorTypeKey.String("batch"))
			span.SetStatus(codes.Error, "events of the batch have failed")
		}
		return
	}
	span.SetAttributes(outcome(end)...)
	if failure := failureOf(end); failure != "" {
		span.SetAttributes(semconv.ErrorTypeKey.String(failure))
		span.SetStatus(codes.Error, plain(end.Error))
	}
}

// endedItem notes what came of an event of a batch, unless it was simply handled.
func (in *instrument) endedItem(span trace.Span, end observe.EndedInfo) {
	if !span.IsRecording() || end.Outcome == observe.OutcomeHandled {
		return
	}
	attributes := append(outcome(end), semconv.MessagingMessageID(end.ID.String()))
	if failure := failureOf(end); failure != "" {
		attributes = append(attributes, semconv.ErrorTypeKey.String(failure), attribute.String("error.message", plain(end.Error)))
	}
	span.AddEvent("busgen.batch.item", trace.WithAttributes(attributes...))
}

// outcome returns the attributes that say what came of an attempt.
func outcome(end observe.EndedInfo) []attribute.KeyValue {
	all := []attribute.KeyValue{outcomeKey.String(string(end.Outcome))}
	if end.Reason != "" {
		all = append(all, reasonKey.String(plain(end.Reason)))
	}
	if !end.Due.IsZero() {
		all = append(all, dueKey.String(end.Due.UTC().Format(time.RFC3339Nano)))
	}
	return all
}

// failureOf returns the error.type of an attempt, or "" if it has not failed: error, panic,
// goexit, timeout, decode, crash or interrupted; or the reason of a dead letter that was not
// tried: crash or expired.
func failureOf(end observe.EndedInfo) string {
	if end.Kind == "" && end.Outcome == observe.OutcomeDead {
		return end.Reason
	}
	return end.Kind
}

// logged returns the attributes of log lines that belong to a span.
func logged(sc trace.SpanContext) []slog.Attr {
	return []slog.Attr{
		slog.String(traceIDKey, sc.TraceID().String()), slog.String(spanIDKey, sc.SpanID().String()),
		slog.String(traceFlagsKey, sc.TraceFlags().String()),
	}
}
