package busotel

import (
	"fmt"
	"reflect"
	"runtime/debug"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/observe"
)

// Option tunes [Instrument].
type Option func(*config)

type config struct {
	tracers trace.TracerProvider
	meters  metric.MeterProvider
	apart   bool
}

// WithTracerProvider sets the provider of spans; nil for none. The default is the global
// provider of package otel.
func WithTracerProvider(p trace.TracerProvider) Option {
	return func(c *config) { c.tracers = p }
}

// WithMeterProvider sets the provider of metrics; nil for none. The default is the global
// provider of package otel.
func WithMeterProvider(p metric.MeterProvider) Option {
	return func(c *config) { c.meters = p }
}

// WithRetriesApart makes each attempt after the first begin a trace of its own, which is
// linked to the span that has published the event. The default is one trace for all
// attempts. Some tools show traces badly that go on for days.
func WithRetriesApart() Option { return func(c *config) { c.apart = true } }

// Instrument returns the option of a bus that is to be observed. The providers are looked up
// now. So set the global ones first: a program that has none when it calls Instrument gets no
// telemetry, and pays nothing for it.
//
// What goes wrong with a provider is reported to the error handler of package otel, and
// changes nothing for the bus.
func Instrument(opts ...Option) runtime.Option {
	c := config{tracers: otel.GetTracerProvider(), meters: otel.GetMeterProvider()}
	for _, opt := range opts {
		if opt != nil {
			opt(&c)
		}
	}
	in := &instrument{apart: c.apart}
	if provides(c.tracers) {
		guarded("the tracer provider", func() {
			in.tracer = c.tracers.Tracer(scope, trace.WithInstrumentationVersion(version()), trace.WithSchemaURL(semconv.SchemaURL))
		})
	}
	if provides(c.meters) {
		guarded("the meter provider", func() {
			in.metrics = newMetrics(c.meters.Meter(scope, metric.WithInstrumentationVersion(version()), metric.WithSchemaURL(semconv.SchemaURL)))
		})
	}
	if in.tracer == nil && in.metrics == nil {
		return runtime.Options()
	}
	return runtime.WithObserver(observe.Observer{Publishing: in.publishing, Handling: in.handling})
}

// scope is the name under which spans and metrics are reported.
const scope = "github.com/busgen/busgen/runtime/otel"

// version returns the version of this module in the program, or "".
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, module := range info.Deps {
		if module.Path == scope {
			return module.Version
		}
	}
	return ""
}

// guarded reports a panic in code of a provider.
func guarded(what string, call func()) {
	defer func() {
		if cause := recover(); cause != nil {
			otel.Handle(fmt.Errorf("busotel: %s has panicked: %v", what, cause))
		}
	}()
	call()
}

// provides says whether a provider does anything: package otel has one that does nothing
// before the program sets another, and those named noop never do.
func provides(provider any) bool {
	v := reflect.ValueOf(provider)
	if !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return false
	}
	t := v.Type()
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.PkgPath() {
	case "go.opentelemetry.io/otel/internal/global", "go.opentelemetry.io/otel/trace/noop", "go.opentelemetry.io/otel/metric/noop":
		return false
	}
	return true
}
