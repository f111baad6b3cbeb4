package inspect_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	. "github.com/busgen/busgen/runtime/internal/conformance/inspection"
)

func TestAnInspectorNeedsAnEventLog(t *testing.T) {
	folder := t.TempDir()
	text := filepath.Join(folder, "text")
	Must(t, os.WriteFile(text, []byte(strings.Repeat("not a database, ", 100)), 0o600))
	empty := filepath.Join(folder, "empty")
	Must(t, os.WriteFile(empty, nil, 0o600))
	for name, path := range map[string]string{"a file that does not exist": filepath.Join(folder, "none"), "a text file": text, "an empty file": empty} {
		_, err := inspect.Open(t.Context(), path)
		var storage *event.StorageError
		if !errors.As(err, &storage) || storage.Path != path {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Stat(filepath.Join(folder, "none")); err == nil {
		t.Error("looking for a file has created it")
	}
}
