package busotel

import (
	"context"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/semconv/v1.43.0/messagingconv"
	"go.opentelemetry.io/otel/trace"

	"github.com/busgen/busgen/runtime/observe"
)

// metrics are the instruments of the conventions, and two that they do not have.
type metrics struct {
	sent        messagingconv.ClientSentMessages
	operations  messagingconv.ClientOperationDuration
	consumed    messagingconv.ClientConsumedMessages
	processing  messagingconv.ProcessDuration
	deadLetters metric.Int64Counter
	steps       metric.Int64Counter
}

// buckets are those that the conventions ask for, in seconds.
var buckets = metric.WithExplicitBucketBoundaries(0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10)

func newMetrics(meter metric.Meter) *metrics {
	var m metrics
	var errs [6]error
	m.sent, errs[0] = messagingconv.NewClientSentMessages(meter)
	m.operations, errs[1] = messagingconv.NewClientOperationDuration(meter, buckets)
	m.consumed, errs[2] = messagingconv.NewClientConsumedMessages(meter)
	m.processing, errs[3] = messagingconv.NewProcessDuration(meter, buckets)
	m.deadLetters, errs[4] = meter.Int64Counter("busgen.dead_letters", metric.WithUnit("{delivery}"),
		metric.WithDescription("Deliveries that became dead letters."))
	m.steps, errs[5] = meter.Int64Counter("busgen.steps", metric.WithUnit("{step}"),
		metric.WithDescription("Steps of handlers that were done, or have failed."))
	for _, err := range errs {
		if err != nil {
			otel.Handle(err)
		}
	}
	return &m
}

// published counts a call that publishes.
func (m *metrics) published(span trace.Span, i observe.PublishingInfo, end observe.PublishEnd, took time.Duration) {
	ctx := trace.ContextWithSpan(context.Background(), span) // for exemplars
	attributes := []attribute.KeyValue{semconv.MessagingDestinationName(i.Type)}
	if end.Err != nil {
		attributes = append(attributes, errorType(end.Err))
	}
	m.sent.Add(ctx, int64(i.Size), publish, system, attributes...)
	m.operations.Record(ctx, took.Seconds(), publish, system, append(attributes, m.operations.AttrOperationType(messagingconv.OperationTypeSend))...)
}

// ended counts an attempt. The events of a batch are counted one by one, and its time once.
func (m *metrics) ended(span trace.Span, i observe.HandlingInfo, end observe.EndedInfo) {
	ctx := trace.ContextWithSpan(context.Background(), span)
	attributes := append([]attribute.KeyValue{semconv.MessagingDestinationName(end.Type)}, subscription(end.AttemptInfo, true)...)
	if b := end.Batch; b != nil {
		if b.TimedOut {
			attributes = append(attributes, semconv.ErrorTypeKey.String("timeout"))
		} else if b.Failed > 0 {
			attributes = append(attributes, semconv.ErrorTypeKey.String("batch"))
		}
		m.processing.Record(ctx, b.Took.Seconds(), process, system, attributes...)
		return
	}
	if end.Outcome == observe.OutcomeDead {
		m.deadLetters.Add(ctx, 1, metric.WithAttributes(append(attributes, reasonKey.String(end.Reason))...))
	}
	if i.Started.IsZero() {
		return // no handler was called
	}
	if failure := failureOf(end); failure != "" {
		attributes = append(attributes, semconv.ErrorTypeKey.String(failure))
	}
	attributes = append(attributes, outcomeKey.String(string(end.Outcome)))
	m.consumed.Add(ctx, 1, process, system, attributes...)
	if !i.Batch {
		m.processing.Record(ctx, end.Took.Seconds(), process, system, attributes...)
	}
}
