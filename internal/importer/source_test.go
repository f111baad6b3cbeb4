package importer_test

import (
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/importer"
)

// 010 is 8 in YAML 1.1 and 10 in YAML 1.2.
func TestANumberThatReadersOfYAMLDisagreeOnIsRefused(t *testing.T) {
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
		refused := result.Catalogue == nil && len(said) == 1 &&
			strings.Contains(said[0], "thing.yaml:4:33: error: readers of YAML take the number "+number+" for different values")
		if refused == fits {
			t.Errorf("%s: %q", number, said)
		}
	}
}
