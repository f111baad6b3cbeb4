package systest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	. "github.com/busgen/busgen/runtime/internal/conformance"
)

func TestANameWithANULIsRefused(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "a\x00b")
	_, opened := runtime.Open(t.Context(), path, Catalogue)
	_, inspected := inspect.Open(t.Context(), path)
	for what, err := range map[string]error{"Open": opened, "inspect.Open": inspected} {
		if !Is[*event.StorageError](err) || !strings.Contains(err.Error(), "holds a NUL byte") { // the folder has the name of the test
			t.Errorf("%s: got %v", what, err)
		}
	}
	entries, err := os.ReadDir(folder)
	Must(t, err)
	if len(entries) > 0 {
		t.Errorf("%v was created", entries)
	}
}
