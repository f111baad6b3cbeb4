package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/runtime/internal/engine"
)

func TestAFileTakesSchemas(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new.db")
	log, err := Open(path, Options{Program: "shopd"})
	must(t, err)
	defer log.Close()
	inspection := inspectFile(t, path)
	if all, err := inspection.Declared(t.Context()); err != nil || len(all.Schemas) > 0 {
		t.Errorf("before: %+v, %v", all.Schemas, err)
	}
	must(t, log.Declare(t.Context(), []engine.TypeSpec{{Name: "order.placed", Schema: "{}"}, {Name: "user.left"}}, nil))
	all, err := inspection.Declared(t.Context())
	must(t, err)
	got := all.Schemas["order.placed"]
	want := engine.Schema{Version: 1, Text: "{}", StoredAt: got.StoredAt, Program: "shopd"}
	if diff := cmp.Diff(want, got); diff != "" || got.StoredAt.IsZero() {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if found, err := inspection.Check(t.Context()); err != nil || found != nil {
		t.Errorf("the check finds %v, %v", found, err)
	}
}
