package text_test

import (
	"testing"

	"github.com/busgen/busgen/internal/catalog/parse"
)

// Go has no constant -0: generated code would have 0 where the JSON of the catalogue has -0.
func TestMinusZeroIsZero(t *testing.T) {
	for number, types := range map[string][]string{"-0": {"int", "int32", "int64", "uint64", "float64", "Level"}, "-0.0": {"float64"}, "-0e7": {"float64"}, "-0.00E-1": {"float64"}} {
		for _, name := range types {
			text := "version: 1\npackage: p\ntypes: { Level: { enum: { low: -0, high: 1 } } }\nevents: { a.b: { payload: { n: { type: " + name + ", default: " + number + ", min: " + number + " }, l: Level }, examples: [{ n: " + number + ", l: " + number + " }] } }\n"
			if name == "Level" {
				text = "version: 1\npackage: p\ntypes: { Level: { enum: { low: -0, high: 1 } } }\nevents: { a.b: { payload: { n: { type: Level, default: -0 } }, examples: [{ n: -0 }] } }\n"
			}
			c, findings := parse.Text("events.yaml", []byte(text))
			if len(findings) > 0 {
				t.Errorf("%s %s: %v", name, number, findings)
				continue
			}
			e := c.Events[0]
			if f := e.Fields[0]; string(f.Default.V) != "0" || name != "Level" && f.Constraints.Min.V.Text != "0" {
				t.Errorf("%s: the default is %s, the limit %s", name, f.Default.V, f.Constraints.Min.V.Text)
			}
		}
	}
}
