package busotel

import (
	"context"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/busgen/busgen/runtime/observe"
)

// stepFailed is the error.type of a step: its function has failed, or the storing.
const stepFailed = "step"

// step makes the span of a step that is done, under that of the attempt.
func (in *instrument) step(ctx context.Context, i observe.HandlingInfo, step observe.StepInfo) (context.Context, func(observe.StepEnd)) {
	span := trace.SpanFromContext(context.Background()) // of nothing
	if in.tracer != nil {
		ctx, span = in.tracer.Start(ctx, spanOfStep(step.Name), trace.WithAttributes(stepKey.String(plain(step.Name)), stepKindKey.String(step.Kind)))
	}
	return ctx, func(end observe.StepEnd) {
		defer span.End()
		if end.Stored != "" {
			span.SetAttributes(stepStoredKey.String(end.Stored))
		}
		if end.Error != "" {
			span.SetAttributes(semconv.ErrorTypeKey.String(stepFailed))
			span.SetStatus(codes.Error, plain(end.Error))
		}
		if in.metrics != nil {
			in.metrics.step(ctx, i, step, end)
		}
	}
}

// spanOfStep names a span. Of steps in a loop, such as "mail/ada@example.org", there may be any number, and names of spans
// must be few.
func spanOfStep(name string) string {
	name, _, _ = strings.Cut(name, "/")
	return "step " + plain(name)
}

// step counts a step that was done. Its name is not among the attributes: there may be any number.
func (m *metrics) step(ctx context.Context, i observe.HandlingInfo, step observe.StepInfo, end observe.StepEnd) {
	attributes := append([]attribute.KeyValue{
		semconv.MessagingSystemKey.String(string(system)), semconv.MessagingDestinationName(i.Type), stepKindKey.String(step.Kind),
	}, subscription(i.AttemptInfo, true)...)
	if end.Stored != "" {
		attributes = append(attributes, stepStoredKey.String(end.Stored))
	}
	if end.Error != "" {
		attributes = append(attributes, semconv.ErrorTypeKey.String(stepFailed))
	}
	m.steps.Add(ctx, 1, metric.WithAttributes(attributes...))
}
