package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/simfs"
	"github.com/busgen/busgen/runtime/internal/sqlite/file"
)

func TestAMountedFileIsFoundByItsPathUntilItIsUnmounted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a%20file #1.db")
	memory := simfs.New(t.TempDir(), nil)
	defer memory.Unregister()
	unmount := file.Mount(path, memory.Name())
	log, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	inspection, err := Engine{}.Inspect(t.Context(), path, "ada")
	if err != nil {
		t.Fatal(err)
	}
	if err := inspection.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) || len(memory.Kill()[path]) == 0 {
		t.Errorf("the file is on the wrong disk: %v", err)
	}

	unmount()
	if _, err := (Engine{}).Inspect(t.Context(), path, "ada"); !errors.Is(err, sqlite3.CANTOPEN) {
		t.Errorf("it is still found: %v", err)
	}
}
