package busotel_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/google/uuid"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/runtime"
	busotel "github.com/busgen/busgen/runtime/otel"
)

// A program that has set the global providers calls Instrument without options. This one has
// an exporter that keeps spans in memory.
func ExampleInstrument() {
	spans := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	traces := busotel.Instrument(busotel.WithTracerProvider(provider)) // an option of events.Open
	ctx := context.Background()
	folder, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(folder)
	bus, err := events.Open(ctx, filepath.Join(folder, "shop.db"), traces,
		runtime.WithLogger(slog.New(busotel.LogHandler(slog.DiscardHandler))))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer bus.Shutdown(ctx)
	events.SubscribeUserRegistered(bus, "welcome", func(context.Context, runtime.Event[events.UserRegistered]) error { return nil })
	bus.Start(ctx)

	ctx, request := provider.Tracer("shop").Start(ctx, "POST /users")
	user := events.UserRegistered{UserID: uuid.MustParse("0190f3a2-7c1e-7a10-8f3e-2b1c9d4e5f60"), Email: "ada@example.org"}
	receipt, err := events.PublishUserRegistered(ctx, bus, user)
	if err != nil {
		fmt.Println(err)
		return
	}
	request.End()
	receipt.Wait(ctx)

	one := true
	for _, span := range spans.GetSpans() {
		one = one && span.SpanContext.TraceID() == request.SpanContext().TraceID()
	}
	fmt.Println(len(spans.GetSpans()), "spans, of one trace:", one)
	for _, span := range spans.GetSpans() {
		if span.Name != "POST /users" {
			fmt.Println(span.SpanKind, span.Name)
		}
	}
	// Unordered output:
	// 3 spans, of one trace: true
	// producer publish user.registered
	// consumer process user.registered
}
