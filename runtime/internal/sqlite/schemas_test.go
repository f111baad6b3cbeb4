package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/runtime/internal/engine"
)

func TestAMigratedFileTakesSchemas(t *testing.T) {
	for version, path := range map[int]string{1: oldSchemaFile(t), 2: emptySchemaFile(t, schema2, 2), 3: filepath.Join(t.TempDir(), "new.db")} {
		log, err := Open(path, Options{Program: "shopd"})
		must(t, err)
		inspection := inspectFile(t, path)
		if got, err := inspection.Schema(t.Context(), "order.placed"); err != nil || got != (engine.Schema{}) {
			t.Errorf("version %d, before: %+v, %v", version, got, err)
		}
		must(t, log.DeclareTypes(t.Context(), []engine.TypeSpec{{Name: "order.placed", Schema: "{}"}, {Name: "user.left"}}))
		got, err := inspection.Schema(t.Context(), "order.placed")
		must(t, err)
		want := engine.Schema{Version: 1, Text: "{}", StoredAt: got.StoredAt, Program: "shopd"}
		if diff := cmp.Diff(want, got); diff != "" || got.StoredAt.IsZero() {
			t.Errorf("version %d (-want +got):\n%s", version, diff)
		}
		if found, err := inspection.Check(t.Context()); err != nil || found != nil {
			t.Errorf("version %d: the check finds %v, %v", version, found, err)
		}
		must(t, inspection.Close())
		must(t, log.Close())
	}
}
