package importer_test

import (
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/importer"
)

// 010 is 8 in YAML 1.1 and 10 in YAML 1.2.
func TestANumberThatReadersOfYAMLDisagreeOnIsItsText(t *testing.T) {
	for number, fits := range map[string]bool{
		"010": false, "0777": false, "-010": false, "09": false, "1_000": false, "0b11": false, "00.5": false,
		"0": true, "10": true, "0x10": true, "0.5": true, "1e3": true, `"010"`: true, "'1_000'": true,
	} {
		source := "title: thing.done\ntype: object\nproperties:\n  a: { type: string, maxLength: " + number + " }\n"
		result := importer.JSONSchema("thing.yaml", []byte(source), importer.Options{})
		var said []string
		for _, f := range result.Findings {
			said = append(said, f.String())
		}
		found := strings.Contains(strings.Join(said, "\n"), "thing.yaml:4:33: warning: readers of YAML take the number "+number+" for different values")
		if found == fits || !fits && strings.Contains(string(result.Catalogue), "max_length") {
			t.Errorf("%s: %q\n%s", number, said, result.Catalogue)
		}
	}
	for _, c := range []struct{ schema, want string }{
		{"{ type: string, example: 012 }", `x: "string?"`},
		{"{ type: string, default: 012 }", `x: { type: "string?", default: "012" }`},
		{"{ type: integer, enum: [012] }", `x: "int64?"`},
		{"{ const: 012 }", `x: "json?"`},
	} {
		result := importer.JSONSchema("thing.yaml", []byte("title: thing.done\ntype: object\nproperties:\n  x: "+c.schema+"\nexamples: [{ x: 012 }]"), importer.Options{})
		requireLoads(t, result)
		if !strings.Contains(string(result.Catalogue), c.want) {
			t.Errorf("%s: %s is not in\n%s%s", c.schema, c.want, result.Catalogue, rendered(result))
		}
	}
}
