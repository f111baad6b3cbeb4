package conformance

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/event"
)

// memo is a payload that different programs describe differently.
type memo struct{}

func (memo) Validate() error { return nil }

// MemoCatalogue returns the catalogue of a program with one event type.
func MemoCatalogue(name string, version int, schema string, aliases ...string) *runtime.Catalogue {
	spec := runtime.Spec[memo]{Name: name, Settings: declare.DefaultSettings(), Version: version, Schema: schema, Aliases: aliases}
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

func (env *Env) StoredSchema(t *testing.T, path, eventType string) event.Schema {
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
	if got := env.StoredSchema(t, path, "no.such.type"); got != (event.Schema{}) {
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

// payloads are schemas of version 1 of an event, and whether a program with the second one opens a bus that has events of
// the first.
var payloads = []struct{ stored, own, refused string }{
	{`{"to":"string","city":"string"}`, `{"grams":"int64"}`, "it lacks grams, and has to, city instead"},
	{`{"id":"string","note":"string"}`, `{"id":"string","grams":"int64"}`, "it lacks grams, and has note instead"},
	{`{"id":"string","of":"Part"}`, `{"id":"string","of":"Other"}`, "it lacks of.b, and has of.a instead"},
	{`{"id":"string","all":"[]Part"}`, `{"id":"string","all":"[]Other"}`, "it lacks all[].b, and has all[].a instead"},
	{`{"id":"string","in":{"type":"{}","fields":{"a":"int"}}}`, `{"id":"string","in":{"type":"{}","fields":{"b":"int"}}}`, "it lacks in.b, and has in.a instead"},
	{`{"id":"string","pay":"Cash"}`, `{"id":"string","pay":"Card"}`, "it lacks pay.number, and has pay.cents instead"},

	{`{"id":"string"}`, `{"id":"string","grams":"int64"}`, ""},                                         // added
	{`{"id":"string","grams":"int64"}`, `{"id":"string"}`, ""},                                         // removed, or a rollback
	{`{"id":"string","note":"string?"}`, `{"id":"string","grams":"int64?"}`, ""},                       // nobody needs them
	{`{"id":"string","note":"string"}`, `{"id":"string","grams":{"type":"int64","default":0}}`, ""},    // has a default
	{`{"id":"string","note":"string"}`, `{"id":"string","text":{"type":"string","was":["note"]}}`, ""}, // renamed
	{`{"id":"string","text":{"type":"string","was":["note"]}}`, `{"id":"string","note":"string"}`, ""}, // a rollback of that
	{`{"id":"string"}`, `{"id":{"type":"string","max_length":5}}`, ""},                                 // a constraint
	{`{"id":"string","grams":"string"}`, `{"id":"string","grams":"int64"}`, ""},                        // decoding tells
	{`{"id":"string","state":"Word"}`, `{"id":"string","state":"Number"}`, ""},                         // the same
	{`{"id":"string","all":"[]int"}`, `{"id":"string","all":"map[string]int"}`, ""},                    // the same
	{`{"id":"string"}`, `{"id":"uuid"}`, ""},                                                           // decoding tells
	{`{"id":"string","of":"Tree"}`, `{"id":"string","of":"Tree","more":"int"}`, ""},                    // contains itself
	{`{"ID":"string"}`, `{"id":"string"}`, ""},                                                         // decoders ignore the case
	{`{"id":"string","made":"Made"}`, `{"id":"string","made":"int"}`, ""},                              // only its code knows
}

const payloadTypes = `{"Part":{"fields":{"a":"int"}},"Other":{"fields":{"b":"int"}},"Tree":{"fields":{"of":"[]Tree"}},"Made":{"custom":"string"},
	"Word":{"enum":["new","old"]},"Number":{"numbers":{"new":1,"old":2}},
	"Cash":{"discriminator":"by","one_of":{"one":{"fields":{"cents":"int"}}}},"Card":{"discriminator":"by","one_of":{"one":{"fields":{"number":"string"}}}}}`

// Two catalogues, or two branches that were merged, may give a version of an event other payloads.
func (env *Env) TestABusWhoseEventsHaveAnotherPayloadIsNotOpened(t *testing.T) {
	program := func(version int, fields, history string) *runtime.Catalogue {
		return MemoCatalogue("parcel.sent", version, fmt.Sprintf(`{"event":"parcel.sent","version":%d,"payload":%s,"history":{%s},"types":%s}`, version, fields, history, payloadTypes))
	}
	refused := func(path string, catalogue *runtime.Catalogue) string {
		t.Helper()
		bus, err := env.OpenBus(t.Context(), path, catalogue, runtime.WithLogger(slog.New(slog.DiscardHandler)))
		if err == nil {
			Must(t, bus.Shutdown(context.Background()))
			return ""
		}
		var other *event.SchemaError
		if !errors.As(err, &other) || other.Event != "parcel.sent" || other.Version != 1 || other.Program == "" || other.StoredAt.IsZero() || !strings.Contains(err.Error(), path) {
			t.Errorf("opening it gives %v", err)
			return err.Error()
		}
		return other.Problem
	}
	store := func(path string, catalogue *runtime.Catalogue) {
		t.Helper()
		bus, err := env.OpenBus(t.Context(), path, catalogue, runtime.WithLogger(slog.New(slog.DiscardHandler)))
		Must(t, err)
		_, err = runtime.PublishJSON(t.Context(), bus, []runtime.JSONEvent{{Type: "parcel.sent", Payload: []byte(`{}`)}})
		Must(t, err)
		Must(t, bus.Shutdown(context.Background()))
	}
	for _, p := range payloads {
		path := env.Target(t)
		stored, own := program(1, p.stored, ""), program(1, p.own, "")
		if got := refused(path, stored); got != "" {
			t.Errorf("%s: a new bus is refused: %s", p.stored, got)
		}
		if got := refused(path, own); got != "" {
			t.Errorf("%s after %s: without events it is refused: %s", p.own, p.stored, got)
		}
		store(path, stored)
		for range 2 { // what was refused is not stored
			if got := refused(path, own); got != p.refused {
				t.Errorf("%s after %s: %q, want %q", p.own, p.stored, got, p.refused)
			}
		}
		if p.refused == "" {
			continue
		}
		if got := refused(path, stored); got != "" {
			t.Errorf("%s: its own program is refused: %s", p.stored, got)
		}
		if got := refused(path, program(2, p.own, `"1":`+p.own)); got != p.refused {
			t.Errorf("%s under history: %q, want %q", p.own, got, p.refused)
		}
		if got := refused(path, program(2, p.own, `"1":`+p.stored)); got != "" {
			t.Errorf("%s as a new version is refused: %s", p.own, got)
		}
	}
}
