package sdktest_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"testing"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/gen/checks"
	"github.com/busgen/busgen/runtime/inspect"
)

// OrderPaid is the payload of order.paid.
type OrderPaid struct {
	OrderID string `json:"order_id"`
}

// Validate implements [runtime.Payload].
func (p OrderPaid) Validate() error {
	var problems checks.Problems
	problems.Text("order_id", p.OrderID)
	return problems.Err()
}

var (
	paidType  = runtime.Define(runtime.Spec[OrderPaid]{Name: "order.paid", Settings: declare.DefaultSettings(), Schema: `{"partition_by":"order_id"}`})
	catalogue = runtime.NewCatalogue(paidType).WithCloudEvents(runtime.CloudEvents{
		Source: "https://shop.example", TypePrefix: "com.example.", DataSchema: "https://shop.example/{type}",
	})
	quiet = runtime.WithLogger(slog.New(slog.DiscardHandler))
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// open returns a bus that runs, and its file.
func open(t *testing.T) (*runtime.Bus, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "shop.db")
	bus, err := runtime.Open(t.Context(), path, catalogue, quiet)
	must(t, err)
	t.Cleanup(func() { bus.Shutdown(context.Background()) })
	must(t, bus.Start(t.Context()))
	return bus, path
}

func serve(t *testing.T, handler http.Handler) string {
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// stored returns the events of a file, the oldest first.
func stored(t *testing.T, path string) (all []event.Event) {
	t.Helper()
	file, err := inspect.Open(t.Context(), path)
	must(t, err)
	defer file.Close()
	all, _, err = file.Events(t.Context(), event.Filter{}, event.Page{Limit: 10_000})
	must(t, err)
	slices.Reverse(all)
	return all
}
