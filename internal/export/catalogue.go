package export

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse/files"
	"github.com/busgen/busgen/internal/setting"
)

// source is the schema with marks where the settings of [setting.Rows] belong.
//
//go:embed catalogue.schema.json
var source string

// catalogueSchema is the schema itself.
var catalogueSchema = sync.OnceValue(func() []byte {
	return []byte(strings.NewReplacer(
		mark("settings of event"), references(setting.Keys),
		mark("settings of subscription"), references(setting.SubscriptionKeys),
		mark("settings of pattern"), references(setting.PatternKeys),
		mark("plain settings"), definitions(),
	).Replace(source))
})

// mark is what stands in the source for members of an object.
func mark(name string) string { return `"` + name + `": true` }

// references returns the members of `properties` for settings.
func references(keys []string) string {
	members := make([]string, len(keys))
	for i, key := range keys {
		members[i] = fmt.Sprintf(`%q: { "$ref": "#/definitions/%s" }`, key, key)
	}
	return strings.Join(members, ",\n        ")
}

// definitions returns the members of `definitions` for plain settings.
func definitions() string {
	members := make([]string, len(setting.Plain))
	for i, row := range setting.Plain {
		value := catalog.InWords(row, row.Default)
		number := fmt.Sprintf(`"type": "integer", "minimum": %d, "maximum": %d`, row.Least, row.Most)
		snippet := fmt.Sprintf(`"defaultSnippets": [{ "label": "%v", "body": %v }]`, value, value)
		var rest string
		switch {
		case row.Kind == setting.Span:
			rest = `"$ref": "#/definitions/durationOrOff"`
		case row.Kind == setting.Flag:
			rest = `"type": "boolean"`
		case row.Off:
			off := fmt.Sprintf(`{ "const": "off", "errorMessage": "off, or a number from %d to %d." }`, row.Least, row.Most)
			rest = fmt.Sprintf(`%s, "anyOf": [%s, { %s }]`, snippet, off, number)
		default:
			rest = snippet + ", " + number
		}
		members[i] = fmt.Sprintf(`%q: { "description": "%s Built in: %v.", "x-example": %s, %s }`, row.Key, row.Doc, value, row.Example, rest)
	}
	return strings.Join(members, ",\n    ")
}

// Editors fetch the schemas from schemas/v1: 1 is the version of the language, which catalogues
// have under the key version.
//
//go:generate go tool busgen schema --force --out ../../schemas/v1/catalogue.schema.json
//go:generate go tool busgen schema --included --force --out ../../schemas/v1/included.schema.json

// CatalogueSchema returns a JSON Schema (draft 7, which editors know) of the
// language of catalogues. It refuses what a schema can: what a name refers to, and
// how parts of a file fit together, is left to the reader of catalogues.
func CatalogueSchema() []byte { return catalogueSchema() }

// IncludedSchema returns that of the files that catalogues include, which have fewer keys.
func IncludedSchema() ([]byte, error) {
	var schema map[string]any
	if err := json.Unmarshal(catalogueSchema(), &schema); err != nil {
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
