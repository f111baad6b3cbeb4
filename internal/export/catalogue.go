package export

import (
	_ "embed"
	"encoding/json"
	"maps"
	"slices"

	"github.com/busgen/busgen/internal/catalog/parse/files"
)

//go:embed catalogue.schema.json
var catalogueSchema []byte

// Editors fetch the schemas from schemas/v1: 1 is the version of the language, which catalogues
// have under the key version.
//
//go:generate go tool busgen schema --force --out ../../schemas/v1/catalogue.schema.json
//go:generate go tool busgen schema --included --force --out ../../schemas/v1/included.schema.json

// CatalogueSchema returns a JSON Schema (draft 7, which editors know) of the
// language of catalogues. It refuses what a schema can: what a name refers to, and
// how parts of a file fit together, is left to the reader of catalogues.
func CatalogueSchema() []byte { return catalogueSchema }

// IncludedSchema returns that of the files that catalogues include, which have fewer keys.
func IncludedSchema() ([]byte, error) {
	var schema map[string]any
	if err := json.Unmarshal(catalogueSchema, &schema); err != nil {
		return nil, err
	}
	for _, key := range []string{"$id", "if", "else"} {
		delete(schema, key)
	}
	schema["required"] = []string{"version"}
	properties, _ := schema["properties"].(map[string]any)
	maps.DeleteFunc(properties, func(key string, _ any) bool { return !slices.Contains(files.IncludedKeys(), key) })
	text, err := json.MarshalIndent(schema, "", "  ")
	return append(text, '\n'), err
}
