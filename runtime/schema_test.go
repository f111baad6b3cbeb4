package runtime_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/dlq"
)

// memo is a payload whose programs differ in what they say about it.
type memo struct{}

func (memo) Validate() error { return nil }

// memoCatalogue is that of a program with one event type.
func memoCatalogue(name string, version int, schema string, aliases ...string) *runtime.Catalogue {
	spec := runtime.Spec[memo]{Name: name, Settings: runtime.DefaultSettings(), Version: version, Schema: schema, Aliases: aliases}
	for v := 1; v < version; v++ {
		spec.Upcasts = append(spec.Upcasts, runtime.UpcastFrom[memo, memo](v, func(n memo) (memo, error) { return n, nil }))
	}
	return runtime.NewCatalogue(runtime.Define(spec))
}

// openOnce opens a bus as a program would, and shuts it down.
func openOnce(t *testing.T, path, program string, catalogue *runtime.Catalogue) {
	t.Helper()
	defer func(name string) { os.Args[0] = name }(os.Args[0])
	os.Args[0] = filepath.FromSlash("/usr/bin/" + program)
	bus, err := runtime.Open(t.Context(), path, catalogue, runtime.WithLogger(slog.New(slog.DiscardHandler)))
	must(t, err)
	must(t, bus.Shutdown(context.Background()))
}

func storedSchema(t *testing.T, path, eventType string) dlq.Schema {
	t.Helper()
	inspector, err := dlq.Open(path)
	must(t, err)
	defer inspector.Close()
	schema, err := inspector.Schema(t.Context(), eventType)
	must(t, err)
	return schema
}

func TestTheSchemasOfACatalogueAreInTheFileOnceABusWasOpened(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.db")
	openOnce(t, path, "shopd", events.Catalogue)
	for _, eventType := range events.Catalogue.Types() {
		got := storedSchema(t, path, eventType.Name())
		if got.Text == "" || got.Text != eventType.Schema() || got.Version != eventType.Version() || got.Program != "shopd" || got.StoredAt.IsZero() {
			t.Errorf("%s: %+v", eventType.Name(), got)
		}
	}
	if got := storedSchema(t, path, "no.such.type"); got != (dlq.Schema{}) {
		t.Errorf("of a type that nobody knows: %+v", got)
	}
}

func TestASchemaIsStoredAgainOnlyIfItHasChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "events.db")
		stored := func(want dlq.Schema) {
			t.Helper()
			if diff := cmp.Diff(want, storedSchema(t, path, "note.taken")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		}
		began := time.Now().UTC()
		openOnce(t, path, "first", memoCatalogue("note.taken", 1, `{"a":1}`))
		stored(dlq.Schema{Version: 1, Text: `{"a":1}`, StoredAt: began, Program: "first"})
		before, err := os.ReadFile(path)
		must(t, err)

		time.Sleep(time.Hour)
		openOnce(t, path, "second", memoCatalogue("note.taken", 1, `{"a":1}`))
		openOnce(t, path, "by hand", memoCatalogue("note.taken", 1, ""))
		stored(dlq.Schema{Version: 1, Text: `{"a":1}`, StoredAt: began, Program: "first"})
		after, err := os.ReadFile(path)
		must(t, err)
		if !cmp.Equal(before, after) {
			t.Error("the file was written, and nothing has changed")
		}

		openOnce(t, path, "second", memoCatalogue("note.taken", 1, `{"a":2}`))
		stored(dlq.Schema{Version: 1, Text: `{"a":2}`, StoredAt: began.Add(time.Hour), Program: "second"})
	})
}

func TestOfSeveralVersionsTheNewestSchemaCounts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.db")
	openOnce(t, path, "old", memoCatalogue("note.taken", 1, `{"v":1}`))
	openOnce(t, path, "new", memoCatalogue("note.taken", 2, `{"v":2}`))
	openOnce(t, path, "old", memoCatalogue("note.taken", 1, `{"v":"1, changed"}`)) // it was rolled back
	if got := storedSchema(t, path, "note.taken"); got.Version != 2 || got.Text != `{"v":2}` || got.Program != "new" {
		t.Errorf("%+v", got)
	}
}

func TestTheSchemaOfARenamedTypeIsFoundByAllItsNames(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.db")
	openOnce(t, path, "old", memoCatalogue("note.taken", 1, `{"name":"taken"}`))
	openOnce(t, path, "hand-written", memoCatalogue("note.written", 1, "", "note.taken"))
	for _, name := range []string{"note.taken", "note.written"} {
		if got := storedSchema(t, path, name); got.Text != `{"name":"taken"}` {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
