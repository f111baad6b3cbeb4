package export_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse"
)

// catalogues are all in the repository that have no findings, by their path.
func catalogues(t *testing.T) map[string]*catalog.Catalogue {
	t.Helper()
	all := map[string]*catalog.Catalogue{}
	for _, pattern := range []string{"../../examples/*.yaml", "../../templates/testdata/*.yaml", "../../templates/starter/*.yaml", "../catalog/parse/testdata/cases/*/events.yaml"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			c, findings, err := parse.Load(path)
			if err != nil {
				t.Fatal(err)
			}
			if findings == nil {
				all[path] = c
			}
		}
	}
	if len(all) < 3 {
		t.Fatalf("found %d catalogues only", len(all))
	}
	return all
}

func parsed(t *testing.T, source string) *catalog.Catalogue {
	t.Helper()
	c, findings := parse.Text("events.yaml", []byte(source))
	if findings != nil {
		t.Fatal(findings)
	}
	return c
}

// schemaIn compiles the schema at a pointer of a document. The documents that a
// JSON Schema refers to are those of the standard, which the library has.
func schemaIn(t *testing.T, document []byte, pointer string) *jsonschema.Schema {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	compiler.DefaultDraft(jsonschema.Draft7)
	if err := compiler.AddResource("file:///document.json", unmarshal(t, document)); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("file:///document.json#" + pointer)
	if err != nil {
		t.Fatalf("%s: %v", pointer, err)
	}
	return schema
}

func schemaFile(t *testing.T, path string) *jsonschema.Schema {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return schemaIn(t, text, "")
}

// failer is a test, or one round of a property.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

func unmarshal(t failer, text []byte) any {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return value
}

// pointed escapes a key for a JSON pointer in a URL.
func pointed(key string) string {
	return strings.NewReplacer("~", "~0", "/", "~1", "%", "%25").Replace(key)
}
