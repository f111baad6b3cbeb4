package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
)

func TestAFileTakesSchemas(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new.db")
	log, err := Open(path, Options{Program: "shopd"})
	must(t, err)
	defer log.Close()
	inspection := inspectFile(t, path)
	if got, err := inspection.Schema(t.Context(), "order.placed"); err != nil || got != (event.Schema{}) { // nor is the type known
		t.Errorf("before: %+v, %v", got, err)
	}
	must(t, log.Declare(t.Context(), []engine.TypeSpec{{Name: "order.placed", Schema: "{}"}, {Name: "user.left"}}, nil))
	got, err := inspection.Schema(t.Context(), "order.placed")
	must(t, err)
	want := event.Schema{Version: 1, Text: "{}", StoredAt: got.StoredAt, Program: "shopd"}
	if diff := cmp.Diff(want, got); diff != "" || got.StoredAt.IsZero() {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if found, err := inspection.Check(t.Context()); err != nil || found != nil {
		t.Errorf("the check finds %v, %v", found, err)
	}
}
