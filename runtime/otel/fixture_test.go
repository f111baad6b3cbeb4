package busotel_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
	busotel "github.com/busgen/busgen/runtime/otel"
)

// traces collects spans in memory.
type traces struct {
	t        *testing.T
	exporter *tracetest.InMemoryExporter
	provider *sdktrace.TracerProvider
}

func newTraces(t *testing.T) *traces {
	exporter := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
	t.Cleanup(func() { provider.Shutdown(context.Background()) })
	return &traces{t, exporter, provider}
}

// option observes a bus, without metrics.
func (tr *traces) option(more ...busotel.Option) runtime.Option {
	return busotel.Instrument(append([]busotel.Option{busotel.WithTracerProvider(tr.provider), busotel.WithMeterProvider(nil)}, more...)...)
}

// open opens a bus that is observed.
func (tr *traces) open(more ...busotel.Option) *conformance.Fixture {
	return conformance.SQLite.Open(tr.t, tr.option(more...))
}

// spans returns the spans that have ended, by their start and then by their end.
func (tr *traces) spans() tracetest.SpanStubs {
	spans := tr.exporter.GetSpans()
	slices.SortStableFunc(spans, func(a, b tracetest.SpanStub) int { return a.StartTime.Compare(b.StartTime) })
	return spans
}

// span returns the one span with these attributes, as texts.
func (tr *traces) span(name string, attributes ...string) tracetest.SpanStub {
	tr.t.Helper()
	var found tracetest.SpanStubs
	for _, span := range tr.spans() {
		if span.Name == name && !slices.ContainsFunc(attributes, func(a string) bool { return !slices.Contains(texts(span.Attributes), a) }) {
			found = append(found, span)
		}
	}
	if len(found) != 1 {
		tr.t.Fatalf("there are %d spans %s %v; all are\n%s", len(found), name, attributes, strings.Join(tr.lines(), "\n"))
	}
	return found[0]
}

// lines describes each span: its name, attempt and outcome, status, and those that it is the child of
// and linked to.
func (tr *traces) lines() (lines []string) {
	spans := tr.spans()
	called := map[trace.SpanID]string{}
	for _, span := range spans {
		called[span.SpanContext.SpanID()] = title(span)
	}
	for _, span := range spans {
		line := title(span)
		if outcome := value(span.Attributes, "busgen.outcome"); outcome != "" {
			line += " " + outcome
		}
		if span.Parent.IsValid() {
			line += " < " + called[span.Parent.SpanID()]
		}
		var links []string
		for _, link := range span.Links {
			links = append(links, called[link.SpanContext.SpanID()])
		}
		if len(links) > 0 {
			line += " ~ " + strings.Join(links, ", ")
		}
		lines = append(lines, line)
	}
	return lines
}

func title(span tracetest.SpanStub) string {
	title := span.Name
	if s := value(span.Attributes, "messaging.destination.subscription.name"); s != "" {
		title += " by " + s
	}
	if n := value(span.Attributes, "busgen.attempt"); n != "" {
		title += " #" + n
	}
	return title
}

// are fails the test if the spans are others, in whatever order.
func (tr *traces) are(want ...string) {
	tr.t.Helper()
	got := tr.lines()
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		tr.t.Error(diff)
	}
}

func value(attributes []attribute.KeyValue, key string) string {
	for _, a := range attributes {
		if string(a.Key) == key {
			return a.Value.Emit()
		}
	}
	return ""
}

// texts returns attributes as key=value.
func texts(attributes []attribute.KeyValue) (all []string) {
	for _, a := range attributes {
		all = append(all, fmt.Sprintf("%s=%s", a.Key, a.Value.Emit()))
	}
	slices.Sort(all)
	return all
}
