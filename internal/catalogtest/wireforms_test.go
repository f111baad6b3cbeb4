package catalogtest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/catalogtest"
	"github.com/busgen/busgen/internal/payload"
)

func TestTheWireFormsOfAnEvent(t *testing.T) {
	for name, test := range map[string]struct {
		source string
		want   []string
	}{
		"nothing": {"  a.b: {}", []string{`{}`}},
		"optional fields, lists and maps": {`  a.b: { payload: { z: "string?", a: "[]int32", m: "map[string]bool?" } }`,
			[]string{`{"z":"text","a":[2147483647],"m":{"key":true}}`}},
		"examples and constraints do not count": {`  a.b: { payload: { n: { type: int64, max: 5 }, s: { type: string, format: email } }, examples: [{ n: 1, s: a@b.de }] }`,
			[]string{`{"n":9223372036854775807,"s":"text"}`}},
		"every value of an enum, whatever their order": {`  a.b: { payload: { c: Color, l: Level, others: "[]Color" } }`,
			[]string{`{"c":"a\u003cb","l":-1,"others":["blue"]}`, `{"c":"red","l":5,"others":["a\u003cb"]}`}},
		"every variant of a union, and what is in it": {`  a.b: { payload: { u: Union } }`,
			[]string{`{"u":{"kind":"one"}}`, `{"u":{"kind":"two","l":-1}}`, `{"u":{"kind":"two","l":5}}`}},
		"what contains itself does so once": {`  a.b: { payload: { t: Tree } }`,
			[]string{`{"t":{"label":"text","parent":{"label":"text","children":[]},"children":[{"label":"text","children":[]}]}}`}},
		"what must contain itself comes to an end": {`  a.b: { payload: { e: Expression } }`,
			[]string{`{"e":{"type":"number","n":0.5}}`, `{"e":{"type":"sum","left":{"type":"number","n":0.5},"right":{"type":"sum","left":{"type":"number","n":0.5},"right":{"type":"number","n":0.5}}}}`}},
		"what would be too large": {`  a.b: { payload: { d: D0, s: string } }`,
			[]string{`{"d":{},"s":"text"}`}},
	} {
		var types strings.Builder
		for i := range 12 {
			types.WriteString("  D" + string(rune('0'+i/10)) + string(rune('0'+i%10)) + ": { fields: {")
			for _, field := range []string{"a", "b", "c"} {
				types.WriteString(" " + field + ": \"D" + string(rune('0'+(i+1)/10)) + string(rune('0'+(i+1)%10)) + "?\",")
			}
			types.WriteString(" } }\n")
		}
		c, findings := parse.Text("events.yaml", []byte(`version: 1
package: events
types:
  Color: { enum: [red, blue, "a<b"] }
  Level: { enum: { high: 5, low: -1 } }
  Union: { discriminator: kind, one_of: { two: { fields: { l: Level } }, one: { fields: {} } } }
  Tree: { fields: { label: string, parent: "Tree?", children: "[]Tree" } }
  Expression: { one_of: { sum: { fields: { left: Expression, right: Expression } }, number: { fields: { n: float64 } } } }
  D0: { fields: { a: "D00?" } }
`+types.String()+"  D12: { fields: { a: string } }\nevents:\n"+test.source+"\n"))
		if len(findings) > 0 {
			t.Fatal(name, findings)
		}
		var got []string
		for _, form := range catalogtest.WireForms(c.Events[0], 1) {
			got = append(got, string(form))
			if err := payload.CheckDecode(c, "a.b", 1, form); err != nil {
				t.Errorf("%s: %s: %v", name, form, err)
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestTheWireFormsOfAnEventAreBounded(t *testing.T) {
	wide := func(fields, values int) int {
		var source strings.Builder
		source.WriteString("version: 1\npackage: events\ntypes:\n  E: { enum: [v0")
		for i := 1; i < values; i++ {
			fmt.Fprintf(&source, ", v%d", i)
		}
		source.WriteString("] }\nevents:\n  a.b: { payload: { e: E")
		for i := range fields {
			fmt.Fprintf(&source, ", a_field_with_a_long_name_%d: string", i)
		}
		c, findings := parse.Text("events.yaml", []byte(source.String()+" } }\n"))
		if len(findings) > 0 {
			t.Fatal(findings)
		}
		return len(catalogtest.WireForms(c.Events[0], 1))
	}
	for _, test := range []struct{ fields, values, want int }{{0, 100, 100}, {0, 101, 100}, {100, 10, 10}, {100, 50, 17}, {1000, 50, 1}} {
		if got := wide(test.fields, test.values); got != test.want {
			t.Errorf("%d fields and an enum of %d make %d forms, want %d", test.fields, test.values, got, test.want)
		}
	}
}
