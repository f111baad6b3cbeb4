package busfile

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/payload/schema"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
)

// placed is an event of a type without personal fields.
type placed struct {
	Customer string `json:"customer"`
}

func (placed) Validate() error { return nil }

// whatIsLeft publishes what an erasure of zebediah leaves as it is: an event that is open, one of
// somebody else with the name in it, one that has the number as its key, and one with the
// name as a part of another one.
func whatIsLeft(t *testing.T) {
	t.Helper()
	c, findings := parse.Text("events.yaml", []byte("version: 1\npackage: events\nevents:\n  order.placed: { partition_by: customer, payload: { customer: string } }\n"))
	if findings != nil {
		t.Fatal(findings)
	}
	placedType := runtime.Define(runtime.Spec[placed]{Name: "order.placed", Settings: declare.DefaultSettings(), Schema: schema.Of(c.Events[0])})
	bus, err := runtime.Open(t.Context(), "people.db", runtime.NewCatalogue(registeredType, placedType), runtime.WithLogger(slog.New(slog.DiscardHandler)))
	must(t, err)
	_, err = runtime.Subscribe(bus, registeredType, "greeter", func(context.Context, runtime.Event[registered]) error { return nil })
	must(t, err)
	must(t, bus.Start(t.Context()))
	_, err = runtime.Publish(t.Context(), bus, registeredType, registered{Number: "c-0", Email: "zebediah at example", Plan: "silver"}, runtime.WithDelay(time.Hour))
	must(t, err)
	_, err = runtime.Publish(t.Context(), bus, registeredType, registered{Number: "c-2", Email: "bob@example.org", Plan: "that of zebediah at example"})
	must(t, err)
	_, err = runtime.Publish(t.Context(), bus, registeredType, registered{Number: "c-3", Email: "eve@example.org", Plan: "gold"},
		runtime.WithMetadata(map[string]string{"from": "cousin-zebediah at example"}))
	must(t, err)
	_, err = runtime.Publish(t.Context(), bus, placedType, placed{Customer: "c-0"})
	must(t, err)
	time.Sleep(time.Second)
	must(t, bus.Shutdown(context.Background()))
}

func TestAnErasureSaysWhatItHasLeftAndEndsWithOne(t *testing.T) {
	inOffice(t, func(t *testing.T) {
		whatIsLeft(t)
		const line = "busgen erase people.db 'zebediah at example' c-0"
		lines := func(what, got string, want ...string) {
			t.Helper()
			left := strings.Split(strings.TrimSuffix(got, "\n"), "\n")
			if len(left) != len(want) {
				t.Errorf("%s: %d lines, want %d:\n%s", what, len(left), len(want), got)
				return
			}
			for n, want := range want {
				if before, after, _ := strings.Cut(want, "ID"); !strings.HasPrefix(left[n], before) || !strings.HasSuffix(left[n], after) {
					t.Errorf("%s: the line\n%s\nwants\n%s", what, left[n], want)
				}
			}
		}
		left := []string{
			"1 event about the person with open deliveries: ID",
			"1 event of others with the person in another field, which stay as they are (mark the field personal, or use --field): ID",
			"1 event with a value as their key, of types without personal fields, which stay as they are (choose with --type or --field): order.placed",
			"1 text with a value as a part of a longer name or address, which stay as they are (give that name too, if it is the person's)",
		}
		dry := does(t, line+" --dry-run") // which is no failure
		lines("dry run", dry, append(append([]string{"would erase 1 event with 1 dead letter and 1 failed attempt, and 0 texts elsewhere"}, left...),
			"  order.placed: 0 events, 0 open, 0 mentioned, 1 by key", "  user.registered: 1 event, 1 open, 1 mentioned, 0 by key")...)

		got := typed(t, line+" --yes --keep-space", "")
		lines("open deliveries", got.Stdout, append(append([]string{"erased 1 event with 1 dead letter and 1 failed attempt, and 0 texts elsewhere"}, left...),
			"the file was not rewritten: what was erased may still be readable in unused space")...)
		if want := "1 event about the person left as they are, because deliveries are open: run it again when they are settled, or with --cancel-open"; got.Status != 1 || !strings.Contains(got.Stderr, want) {
			t.Errorf("with an open delivery it ends with %d: %s", got.Status, got.Stderr)
		}
		if got := typed(t, line+" --yes --json", ""); got.Status != 1 || !strings.Contains(got.Stdout, `"open": 1`) || !strings.Contains(got.Stdout, `"clean": true`) {
			t.Errorf("as JSON it ends with %d: %s", got.Status, got.Stdout)
		}

		got = typed(t, line+" --yes --cancel-open", "")
		lines("a key", got.Stdout, append([]string{"erased 1 event with 0 dead letters and 0 failed attempts, and 0 texts elsewhere"}, left[1:]...)...)
		if want := "1 event left as they are, because only their key is one of the values: choose the types that are about the person with --type, or the field with --field"; got.Status != 1 || !strings.Contains(got.Stderr, want) {
			t.Errorf("with an event that only its key names it ends with %d: %s", got.Status, got.Stderr)
		}

		got = typed(t, line+" --yes --type order.placed,user.registered", "")
		lines("chosen types", got.Stdout, "erased 1 event with 0 dead letters and 0 failed attempts, and 0 texts elsewhere", left[1], left[3])
		if got.Status != 0 {
			t.Errorf("when nothing about the person is left it ends with %d: %s", got.Status, got.Stderr)
		}
	})
}
