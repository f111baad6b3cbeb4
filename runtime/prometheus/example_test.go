package busprom_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/runtime"
	busprom "github.com/busgen/busgen/runtime/prometheus"
)

// A program shows the metrics of its bus beside its own.
func ExampleNewCollector() {
	ctx := context.Background()
	folder, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "shop.db")
	bus, err := events.Open(ctx, path, runtime.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer bus.Shutdown(ctx)
	events.SubscribeUserRegistered(bus, "welcome", func(context.Context, runtime.Event[events.UserRegistered]) error { return nil })
	bus.Start(ctx)

	registry := prometheus.NewRegistry() // or prometheus.DefaultRegisterer
	registry.MustRegister(busprom.NewCollector(bus, busprom.WithFile(path)))
	http.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))

	receipt, err := events.PublishUserRegistered(ctx, bus, events.UserRegistered{
		UserID: uuid.MustParse("0190f3a2-7c1e-7a10-8f3e-2b1c9d4e5f60"), Email: "ada@example.org",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	receipt.Wait(ctx)

	page := httptest.NewRecorder()
	http.DefaultServeMux.ServeHTTP(page, httptest.NewRequest("GET", "/metrics", nil))
	for line := range strings.Lines(page.Body.String()) {
		if strings.HasPrefix(line, "busgen_attempts_total") && strings.Contains(line, `"handled"`) {
			fmt.Print(line)
		}
	}
	// Output: busgen_attempts_total{group="",outcome="handled",subscription="welcome"} 1
}
