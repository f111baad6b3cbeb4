package conformance

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/inspect"
)

// memo is a payload that different programs describe differently.
type memo struct{}

func (memo) Validate() error { return nil }

// MemoCatalogue returns the catalogue of a program with one event type.
func MemoCatalogue(name string, version int, schema string, aliases ...string) *runtime.Catalogue {
	spec := runtime.Spec[memo]{Name: name, Settings: runtime.DefaultSettings(), Version: version, Schema: schema, Aliases: aliases}
	for v := 1; v < version; v++ {
		spec.Upcasts = append(spec.Upcasts, runtime.UpcastFrom[memo, memo](v, func(n memo) (memo, error) { return n, nil }))
	}
	return runtime.NewCatalogue(runtime.Define(spec))
}

// OpenOnce opens a bus as a program would, and shuts it down.
func (env *Env) OpenOnce(t *testing.T, path, program string, catalogue *runtime.Catalogue) {
	t.Helper()
	defer func(name string) { os.Args[0] = name }(os.Args[0])
	os.Args[0] = filepath.FromSlash("/usr/bin/" + program)
	bus, err := env.OpenBus(t.Context(), path, catalogue, runtime.WithLogger(slog.New(slog.DiscardHandler)))
	Must(t, err)
	Must(t, bus.Shutdown(context.Background()))
}

func (env *Env) StoredSchema(t *testing.T, path, eventType string) inspect.Schema {
	t.Helper()
	inspector, err := env.OpenFile(t.Context(), path)
	Must(t, err)
	defer inspector.Close()
	schema, err := inspector.Schema(t.Context(), eventType)
	Must(t, err)
	return schema
}

func (env *Env) TestOpeningABusStoresTheSchemasOfItsCatalogue(t *testing.T) {
	path := env.Target(t)
	env.OpenOnce(t, path, "shopd", events.Catalogue)
	for _, eventType := range events.Catalogue.Types() {
		got := env.StoredSchema(t, path, eventType.Name())
		if got.Text == "" || got.Text != eventType.Schema() || got.Version != eventType.Version() || got.Program != "shopd" || got.StoredAt.IsZero() {
			t.Errorf("%s: %+v", eventType.Name(), got)
		}
	}
	if got := env.StoredSchema(t, path, "no.such.type"); got != (inspect.Schema{}) {
		t.Errorf("of a type that nobody knows: %+v", got)
	}
}

func (env *Env) TestTheNewestOfSeveralVersionsOfASchemaCounts(t *testing.T) {
	path := env.Target(t)
	env.OpenOnce(t, path, "old", MemoCatalogue("note.taken", 1, `{"v":1}`))
	env.OpenOnce(t, path, "new", MemoCatalogue("note.taken", 2, `{"v":2}`))
	env.OpenOnce(t, path, "old", MemoCatalogue("note.taken", 1, `{"v":"1, changed"}`)) // it was rolled back
	if got := env.StoredSchema(t, path, "note.taken"); got.Version != 2 || got.Text != `{"v":2}` || got.Program != "new" {
		t.Errorf("%+v", got)
	}
}

func (env *Env) TestTheSchemaOfARenamedTypeIsFoundByAllItsNames(t *testing.T) {
	path := env.Target(t)
	env.OpenOnce(t, path, "old", MemoCatalogue("note.taken", 1, `{"name":"taken"}`))
	env.OpenOnce(t, path, "hand-written", MemoCatalogue("note.written", 1, "", "note.taken"))
	for _, name := range []string{"note.taken", "note.written"} {
		if got := env.StoredSchema(t, path, name); got.Text != `{"name":"taken"}` {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
