package runtime_test

import (
	"os"
	"strings"
	"testing"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
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
