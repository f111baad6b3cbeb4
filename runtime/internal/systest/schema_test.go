package systest

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/runtime/event"
	. "github.com/busgen/busgen/runtime/internal/conformance"
)

func TestASchemaIsStoredAgainOnlyIfItHasChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "events.db")
		stored := func(want event.Schema) {
			t.Helper()
			if diff := cmp.Diff(want, SQLite.StoredSchema(t, path, "note.taken")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		}
		began := time.Now().UTC()
		SQLite.OpenOnce(t, path, "first", MemoCatalogue("note.taken", 1, `{"a":1}`))
		stored(event.Schema{Version: 1, Text: `{"a":1}`, StoredAt: began, Program: "first"})
		before, err := os.ReadFile(path)
		Must(t, err)

		time.Sleep(time.Hour)
		SQLite.OpenOnce(t, path, "second", MemoCatalogue("note.taken", 1, `{"a":1}`))
		SQLite.OpenOnce(t, path, "by hand", MemoCatalogue("note.taken", 1, ""))
		stored(event.Schema{Version: 1, Text: `{"a":1}`, StoredAt: began, Program: "first"})
		after, err := os.ReadFile(path)
		Must(t, err)
		if !cmp.Equal(before, after) {
			t.Error("the file was written, and nothing has changed")
		}

		SQLite.OpenOnce(t, path, "second", MemoCatalogue("note.taken", 1, `{"a":2}`))
		stored(event.Schema{Version: 1, Text: `{"a":2}`, StoredAt: began.Add(time.Hour), Program: "second"})
	})
}
