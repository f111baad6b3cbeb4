package types_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/short"
	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse"
)

// paths lists fields with their JSON names, types and mixins.
func paths(fields []*catalog.Field) string {
	var all []string
	for _, f := range fields {
		text := f.Label() + " " + f.Name.V + " " + f.Type.Text
		if f.Mixin != nil {
			text += " of " + f.Mixin.Name.V
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

func TestFieldsOfMixinsComeFirstInTheirOrder(t *testing.T) {
	c, findings := parse.Text("events.yaml", []byte(`
version: 1
package: p
json_names: camel
types:
  Late: { mixins: [Wide, Base], fields: { z_z: int } }
  Wide: { mixins: [Base], reserved: [gone], fields: { w_w: { type: int, min: 1 } } }
  Base: { json_names: snake, reserved: [older], fields: { b_b: "[]Base?" } }
events:
  a.done: { reserved: [own], mixins: [Late, Wide], payload: { a_a: string } }
`))
	if findings != nil {
		t.Fatal(findings)
	}
	e := c.Events[0]
	if got, want := paths(e.Fields), "b_b b_b []Base? of Late, w_w wW int of Late, z_z zZ int of Late, a_a aA string"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	var reserved []string
	for _, name := range e.Reserved {
		reserved = append(reserved, name.V)
	}
	if diff := cmp.Diff([]string{"older", "gone", "own"}, reserved); diff != "" {
		t.Error(diff)
	}
	if e.Fields[1].Constraints.Min.V.Text != "1" {
		t.Error("a constraint is lost")
	}
}

func TestAMixinCanBeOfAnotherCatalogue(t *testing.T) {
	files := parse.Memory{Text: map[string][]byte{
		"shared/events.yaml": []byte("version: 1\npackage: shared\ntypes:\n  Money: { fields: { n: int } }\n  Base: { fields: { total: Money, lines: \"[]Money?\" } }\n  Wide: { mixins: [Base], fields: { x: int } }\n"),
	}}
	c, findings := parse.TextWith(files, "events.yaml", []byte("version: 1\npackage: p\nimports: { shared: { catalogue: shared/events.yaml, import_path: example.org/shared } }\nevents: { a.done: { mixins: [shared.Wide, shared.Base], payload: { y: int } } }\n"))
	if findings != nil {
		t.Fatal(findings)
	}
	want := "total total shared.Money of shared.Wide, lines lines []shared.Money? of shared.Wide, x x int of shared.Wide, y y int"
	if got := paths(c.Events[0].Fields); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A short file could stand for billions of fields.
func TestMixinsThatExplodeAreRefusedAtOnce(t *testing.T) {
	short.Visit(t, "it reads large catalogues")
	wide := func(depth, fields, events int) string {
		var b strings.Builder
		b.WriteString("version: 1\npackage: p\ntypes:\n")
		for i := range depth {
			fmt.Fprintf(&b, "  A%d: { fields: {", i)
			for n := range fields {
				fmt.Fprintf(&b, " f%d_%d: int,", i, n)
			}
			b.WriteString(" }")
			if i > 0 {
				fmt.Fprintf(&b, ", mixins: [A%d]", i-1)
			}
			b.WriteString(" }\n")
		}
		b.WriteString("events:\n")
		for i := range events {
			fmt.Fprintf(&b, "  a.e%d: { mixins: [A%d], partition_by: f0_0 }\n", i, depth-1)
		}
		return b.String()
	}
	for text, want := range map[string]string{
		wide(1, 500, 1000): "bring more than 100000 fields",
		wide(1000, 1, 1):   "more than 16 deep",
	} {
		c, findings := parse.Text("events.yaml", []byte(text))
		if c != nil || len(findings) == 0 || !strings.Contains(findings[0].Message, want) {
			t.Errorf("want %q; got %d findings, %.300v", want, len(findings), findings)
		}
	}
	if _, findings := parse.Text("events.yaml", []byte(wide(16, 3, 50))); findings != nil {
		t.Error(findings)
	}
}
