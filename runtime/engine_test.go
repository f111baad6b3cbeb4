package runtime_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/internal/engine"
)

func TestATargetOfAnotherEngineNamesTheMissingImport(t *testing.T) {
	t.Chdir(t.TempDir())
	for target, want := range map[string]string{
		"nats://user:secret@a,b,c/shop": "import github.com/busgen/busgen/runtime/jetstream",
		"postgres://db/shop":            "import github.com/busgen/busgen/runtime/postgres",
		"kafka://a/shop":                "no engine for this is known",
		"file:///var/lib/shop.db":       "without file://",
	} {
		_, err := runtime.Open(t.Context(), target, conformance.Catalogue)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want an error with %q", target, err, want)
		}
	}
	if files, err := os.ReadDir("."); err != nil || len(files) > 0 {
		t.Errorf("Open has left %v behind (%v)", files, err)
	}
}

func TestWithEngineNeedsAnEngine(t *testing.T) {
	if _, err := runtime.Open(t.Context(), "shop", conformance.Catalogue, runtime.WithEngine(nil)); err == nil {
		t.Error("nil was accepted")
	}
}

func TestABusWithoutTablesSaysSo(t *testing.T) {
	ctx := t.Context()
	noTables := withLog(func(log engine.Log) engine.Log { return struct{ engine.Log }{log} })
	bus, err := runtime.Open(ctx, filepath.Join(t.TempDir(), "events.db"), conformance.Catalogue, noTables)
	conformance.Must(t, err)
	defer bus.Shutdown(context.Background())
	_, joining := runtime.Publish(ctx, runtime.In(bus, nil), conformance.PlacedType, conformance.OrderPlaced{OrderID: "A"})
	_, beginning := runtime.DB(bus).Begin()
	for what, err := range map[string]error{
		"Tx": runtime.Transact(ctx, bus, func(runtime.Tx) error { return nil }),
		"In": joining, "DB": runtime.DB(bus).Ping(), "BeginTx": beginning, "a statement": runtime.DB(bus).QueryRow("SELECT 1").Scan(new(int)),
	} {
		if !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s gives %v", what, err)
		}
	}
}
