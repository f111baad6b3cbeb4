package busotel_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
	busotel "github.com/busgen/busgen/runtime/otel"
)

func TestATraceparentOfStrangersHarmsNothing(t *testing.T) {
	const valid = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for _, hostile := range []map[string]string{
		{"traceparent": ""}, {"traceparent": "00"}, {"traceparent": strings.Repeat("0", 500_000)},
		{"traceparent": "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
		{"traceparent": "00-00000000000000000000000000000000-0000000000000000-00"},
		{"traceparent": "00-<script>-\u202e\x1b[31m-01"}, {"tracestate": "a=b"},
		{"traceparent": valid, "tracestate": strings.Repeat("a=b,", 100_000)},
		{"traceparent": valid, "tracestate": "=,=,=\x00"},
		{"traceparent": valid + strings.Repeat("-0", 100_000)},
	} {
		synctest.Test(t, func(t *testing.T) {
			traces := newTraces(t)
			f := traces.open()
			handled := 0
			f.Handle("reader", func(context.Context, placed) error { handled++; return nil })
			f.MustStart()
			_, err := runtime.Publish(t.Context(), f.Bus, conformance.PlacedType, conformance.OrderPlaced{}, runtime.WithMetadata(hostile))
			conformance.Must(t, err)
			f.Idle()
			span := traces.span("process order.placed")
			if handled != 1 || len(span.SpanContext.TraceState().String()) > 1000 {
				t.Errorf("%d were handled, with the state %q", handled, span.SpanContext.TraceState())
			}
			if lines := f.Log.Level(t, "ERROR"); len(lines) > 0 {
				t.Errorf("the log has %v", lines)
			}
		})
	}
}

// A provider, and code that it calls, may panic at any time.
type panicking struct{ trace.TracerProvider }

func (panicking) Tracer(string, ...trace.TracerOption) trace.Tracer { panic("no tracer") }

type panickingProcessor struct{ at string }

func (p panickingProcessor) OnStart(context.Context, sdktrace.ReadWriteSpan) {
	if p.at == "start" {
		panic("at the start")
	}
}
func (p panickingProcessor) OnEnd(sdktrace.ReadOnlySpan) {
	if p.at == "end" {
		panic("at the end")
	}
}
func (panickingProcessor) Shutdown(context.Context) error   { return nil }
func (panickingProcessor) ForceFlush(context.Context) error { return nil }

type nilTracer struct{ trace.TracerProvider }

func (nilTracer) Tracer(string, ...trace.TracerOption) trace.Tracer { return nil }

func TestProvidersThatPanicOrAreNilHarmNothing(t *testing.T) {
	var typedNilTracers *sdktrace.TracerProvider
	var typedNilMeters *sdkmetric.MeterProvider
	var reported []string
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { reported = append(reported, err.Error()) }))
	for name, option := range map[string]runtime.Option{
		"nil":       busotel.Instrument(nil, busotel.WithTracerProvider(nil), busotel.WithMeterProvider(nil)),
		"typed nil": busotel.Instrument(busotel.WithTracerProvider(typedNilTracers), busotel.WithMeterProvider(typedNilMeters)),
		"panics":    busotel.Instrument(busotel.WithTracerProvider(panicking{})),
		"no tracer": busotel.Instrument(busotel.WithTracerProvider(nilTracer{})),
		"at the start": busotel.Instrument(busotel.WithTracerProvider(
			sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(panickingProcessor{"start"})))),
		"at the end": busotel.Instrument(busotel.WithTracerProvider(
			sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(panickingProcessor{"end"})))),
		"meters": busotel.Instrument(busotel.WithMeterProvider(panickingMeters{})),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := conformance.SQLite.Open(t, option)
				attempts := 0
				f.Handle("reader", func(ctx context.Context, e placed) error {
					if attempts++; e.Attempt == 1 {
						panic("of the program")
					}
					_, err := runtime.Publish(ctx, f.Bus, conformance.PaidType, conformance.OrderPaid{})
					return err
				})
				f.MustStart()
				f.Publish(1)
				f.Idle()
				if attempts != 2 {
					t.Errorf("there were %d attempts", attempts)
				}
			})
		})
	}
	if !slices.Contains(reported, "busotel: the tracer provider has panicked: no tracer") {
		t.Errorf("package otel was told %q", reported)
	}
}

type panickingMeters struct{ metric.MeterProvider }

func (panickingMeters) Meter(string, ...metric.MeterOption) metric.Meter { return nil }

// Without a provider the option does nothing: publishing and handling allocate what they do without it.
func TestWithoutAProviderNothingIsAllocated(t *testing.T) {
	once := func(opts ...runtime.Option) (publish, handle float64) {
		f := conformance.SQLite.Open(t, opts...)
		done := make(chan struct{})
		f.Handle("reader", func(context.Context, placed) error { done <- struct{}{}; return nil })
		publish = testing.AllocsPerRun(200, func() { f.Publish(1) })
		f.MustStart()
		for range 201 {
			<-done
		}
		handle = testing.AllocsPerRun(200, func() { f.Publish(1); <-done })
		return publish, handle
	}
	cost := func(opts ...runtime.Option) (publish, handle float64) { // the least: now and then a pool is emptied
		publish, handle = once(opts...)
		for range 2 {
			p, h := once(opts...)
			publish, handle = min(publish, p), min(handle, h)
		}
		return publish, handle
	}
	publish, handle := cost()
	for name, option := range map[string]runtime.Option{
		"none set": busotel.Instrument(),
		"noop":     busotel.Instrument(busotel.WithTracerProvider(tracenoop.NewTracerProvider()), busotel.WithMeterProvider(nil)),
	} {
		p, h := cost(option)
		if p > publish || h > handle+1 { // the bus does other things meanwhile
			t.Errorf("%s: publishing allocates %v and not %v, and handling %v and not %v", name, p, publish, h, handle)
		}
	}
	traces := newTraces(t)
	if p, _ := cost(traces.option()); p <= publish {
		t.Errorf("with a provider it allocates %v, which is no more than %v: what is measured?", p, publish)
	}
}
