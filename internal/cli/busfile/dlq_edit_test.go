package busfile

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/clitest"
	"github.com/busgen/busgen/internal/payload/schema"
	"github.com/busgen/busgen/runtime"
)

// otherProgram opens the file of the shop once, with a schema of orders of its own.
func otherProgram(t *testing.T, version int, schema string) {
	t.Helper()
	spec := runtime.Spec[clitest.OrderPlaced]{Name: "order.placed", Settings: clitest.ShopSettings(), Version: version, Schema: schema}
	if version > 1 { // it does not read the versions before the last one
		spec.Upcasts = []runtime.Upcast{runtime.UpcastFrom[clitest.OrderPlaced, clitest.OrderPlaced](version-1, func(o clitest.OrderPlaced) (clitest.OrderPlaced, error) { return o, nil })}
	}
	defer func(name string) { os.Args[0] = name }(os.Args[0])
	os.Args[0] = "other"
	bus, err := runtime.Open(t.Context(), "shop.db", runtime.NewCatalogue(runtime.Define(spec)), runtime.WithLogger(slog.New(slog.DiscardHandler)))
	must(t, err)
	must(t, bus.Shutdown(context.Background()))
}

func schemaIn(t *testing.T, text string) string {
	t.Helper()
	c, findings := parse.Text("events.yaml", []byte("version: 1\npackage: shop\n"+text))
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	return schema.Of(c.Events[0])
}

func TestEditingSaysWhyTheStoredSchemaDoesNotHelp(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		s.badNight()
		edit := "busgen dlq edit shop.db " + shownID(t, "busgen dlq list shop.db --reason permanent")
		const fixed = `{"number": 5, "email": "customer5@example.org"}`

		otherProgram(t, 1, `{"event":"order.placed","version":1,"payload":{"number":{"type":"int","multiple_of":5}}}`)
		got := typed(t, edit, fixed)
		if got.Status != cli.StatusTrouble || !strings.Contains(got.Stderr, `the schema of order.placed in shop.db cannot be read by this version of busgen: `) ||
			!strings.Contains(got.Stderr, "use the busgen of the program that stored it (other), or name the catalogue with --catalogue") {
			t.Errorf("of a newer busgen: %+v", got)
		}

		otherProgram(t, 3, schemaIn(t, "events:\n  order.placed:\n    version: 3\n    history: { 1: dropped, 2: { payload: { number: int } } }\n    payload: { n: int }\n"))
		got = typed(t, edit, fixed)
		if got.Status != cli.StatusNo || !strings.Contains(got.Stderr, "version 3, stored by other on ") ||
			!strings.Contains(got.Stderr, "it has version 1; the schema of order.placed in shop.db has version 3, and those from 2 on") {
			t.Errorf("of a program that does not read the version: %+v", got)
		}

		otherProgram(t, 4, schemaIn(t, "events:\n  order.placed:\n    version: 4\n    history: { 1: { payload: { number: int, email: string } }, 2: { payload: { n: int } }, 3: { payload: { n: int } } }\n    payload: { n: int }\n"))
		if got = typed(t, edit, fixed); got.Status != 0 || !strings.Contains(got.Stderr, "version 4, stored by other on ") {
			t.Errorf("of a program that reads the version: %+v", got)
		}
	})
}

func TestEditingSaysThatCustomTypesAreCheckedForTheirFormOnly(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		s.badNight()
		edit := "busgen dlq edit shop.db " + shownID(t, "busgen dlq list shop.db --reason permanent")
		const custom = "types: { Address: { go: { import: net/mail, type: Address }, type: string } }\nevents: { order.placed: { payload: { number: int, email: Address } } }\n"
		must(t, os.WriteFile("custom.yaml", []byte("version: 1\npackage: shop\n"+custom), 0o666))
		otherProgram(t, 1, schemaIn(t, custom))
		const remark = "order.placed: of values of Address, which are custom Go types, only the form of their JSON is checked\n"
		for _, command := range []string{edit + " --catalogue custom.yaml", edit} {
			got := typed(t, command, `{"number": 5, "email": 5}`)
			if got.Status != cli.StatusNo || !strings.Contains(got.Stderr, remark) || !strings.Contains(got.Stderr, "email: want a string, got a number") {
				t.Errorf("%s: %+v", command, got)
			}
		}
	})
}
