// Package busotel sends traces and metrics of a bus to OpenTelemetry. It is a module of its
// own, so that programs that do not use it need nothing of OpenTelemetry.
//
//	bus, err := events.Open(ctx, "shop.db", busotel.Instrument())
//
// [Instrument] is an option of the bus. Set the global providers before that, or give it
// others ([WithTracerProvider], [WithMeterProvider]). If there are none, the option does
// nothing, and the bus costs what it costs without it.
//
// # Spans
//
// Publishing makes a span "publish order.placed" of kind producer, one for a batch of events. Its
// context is stored with the event, as traceparent and tracestate of its metadata, so a
// trace goes on after a restart and in other processes. A traceparent that the program has
// given itself stays, and the span is linked to it.
//
// Each attempt makes a span "process order.placed" of kind consumer, from before the payload is
// decoded until it is decided what comes of the attempt, which it says. It is a child of the span
// that has published the event, and linked to it. A retry is also linked to the attempt before it,
// if that was in this process. With [WithRetriesApart] a retry begins a trace of its own, which is
// linked. A batch has one span, with a link to each event. Events that a handler publishes with its
// context belong to the trace of its attempt.
//
// A delivery that becomes a dead letter although no handler was called, because it has
// expired or ended its process, has a span "settle order.placed".
//
// # Metrics
//
// The metrics are messaging.client.sent.messages, messaging.client.operation.duration,
// messaging.client.consumed.messages and messaging.process.duration.
//
// # Logs
//
// What the bus logs about an attempt, and what a handler logs with [runtime.Logger], has the
// attributes trace_id, span_id and trace_flags. [LogHandler] adds them to all other records that are
// logged with the context of a span.
//
// # Conventions
//
// Names follow the semantic conventions for messaging, version 1.43.0, of status
// Development: they may change with a new version of this module. docs/telemetry.md says
// which attributes there are.
//
// All functions are safe for concurrent use.
package busotel
