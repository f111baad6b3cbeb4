package export_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/export"
)

// What editors make of the schema. The rules are those of yaml-language-server 1.25, as it
// behaved when it was tried with this schema.

// A place is a schema inside of the schema of catalogues.
type place struct {
	path   string
	schema map[string]any
	isIf   bool // it is only asked, and what does not fit it is no error
}

// places lists the schemas inside of the schema of catalogues, itself first.
func places(t *testing.T) []place {
	t.Helper()
	var schema map[string]any
	if err := json.Unmarshal(export.CatalogueSchema(), &schema); err != nil {
		t.Fatal(err)
	}
	var all []place
	var visit func(path string, value any, isIf bool)
	many := func(path string, values any, isIf bool) {
		switch values := values.(type) {
		case []any:
			for i, v := range values {
				visit(fmt.Sprintf("%s/%d", path, i), v, isIf)
			}
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(values)) {
				visit(path+"/"+key, values[key], isIf)
			}
		}
	}
	visit = func(path string, value any, isIf bool) {
		s, ok := value.(map[string]any)
		if !ok {
			return
		}
		all = append(all, place{path, s, isIf})
		for _, key := range []string{"additionalProperties", "propertyNames", "items", "then", "else", "not", "contains"} {
			visit(path+"/"+key, s[key], isIf)
		}
		visit(path+"/if", s["if"], true)
		for _, key := range []string{"properties", "patternProperties", "definitions", "dependencies", "anyOf", "allOf", "oneOf"} {
			many(path+"/"+key, s[key], isIf)
		}
	}
	visit("#", schema, false)
	return all
}

// properties lists what can stand under a key, with the definition that it refers to.
func properties(t *testing.T) map[string]map[string]any {
	t.Helper()
	all, found := map[string]map[string]any{}, map[string]map[string]any{}
	for _, p := range places(t) {
		all[p.path] = p.schema
	}
	for _, p := range places(t) {
		if parent, key, ok := cutLast(p.path, "/properties/"); ok && !p.isIf && all[parent]["type"] == "object" {
			whole := maps.Clone(p.schema)
			for name, ok := whole["$ref"].(string); ok; name, ok = whole["$ref"].(string) {
				delete(whole, "$ref")
				for key, value := range all[name] {
					if _, written := whole[key]; !written {
						whole[key] = value
					}
				}
			}
			found[parent+" "+key] = whole
		}
	}
	if len(found) < 50 {
		t.Fatalf("found %d properties", len(found))
	}
	return found
}

func cutLast(text, sep string) (before, after string, found bool) {
	i := strings.LastIndex(text, sep)
	if i < 0 || strings.Contains(text[i+len(sep):], "/") {
		return "", "", false
	}
	return text[:i], text[i+len(sep):], true
}

// Whoever completes a key gets the only snippet, or else 0 for a number.
func TestSnippetsThatEditorsInsertAreValid(t *testing.T) {
	snippets := 0
	for path, p := range properties(t) {
		kinds, _ := p["type"].([]any)
		kind := append(kinds, p["type"])[0]
		insert := "0"
		if list, ok := p["defaultSnippets"].([]any); ok {
			snippets++
			body, _ := json.Marshal(list[0].(map[string]any)["body"])
			insert = string(body)
		} else if kind != "integer" && kind != "number" || p["const"] != nil {
			continue
		}
		only := map[string]any{"definitions": unmarshal(t, export.CatalogueSchema()).(map[string]any)["definitions"]}
		maps.Copy(only, p)
		text, err := json.Marshal(only)
		if err != nil {
			t.Fatal(err)
		}
		if err := schemaIn(t, text, "").Validate(unmarshal(t, []byte(insert))); err != nil {
			t.Errorf("%s: an editor inserts %s: %v", path, insert, err)
		}
	}
	if snippets < 5 {
		t.Errorf("there are %d snippets", snippets)
	}
}

// A default in the schema would make editors insert a whole section as soon as its key is
// completed, with max_attempts and max_retries in one.
func TestSettingsAreInsertedAsTheyAreBuiltIn(t *testing.T) {
	c, findings := parse.Text("events.yaml", []byte("version: 1\npackage: p\nevents: { a.done: { breaker: {}, redrive: {} } }\n"))
	if findings != nil {
		t.Fatal(findings)
	}
	builtIn := map[string]any{"at_once": 1, "max_retries": 3, "size": c.Events[0].Settings.Batch.Size.V} // of a batch, which is not listed
	for _, s := range c.Events[0].Settings.List() {
		_, key, _ := strings.Cut("."+s.Key, ".")
		if i := strings.LastIndexByte(key, '.'); i >= 0 {
			key = key[i+1:]
		}
		builtIn[key] = s.Value
	}
	for path, p := range properties(t) {
		if p["default"] != nil {
			t.Errorf("%s has a default", path)
		}
		_, key, _ := strings.Cut(path, " ")
		list, ok := p["defaultSnippets"].([]any)
		if !ok || key == "version" {
			continue
		}
		if got, want := fmt.Sprint(list[0].(map[string]any)["body"]), fmt.Sprint(builtIn[key]); got != want {
			t.Errorf("%s: %s is inserted, and %s is built in", path, got, want)
		}
	}
}

// "Matches a schema that is not allowed" and "String does not match the pattern" tell
// nobody what to write.
func TestEditorsSayWhatToWrite(t *testing.T) {
	for _, p := range places(t) {
		if p.isIf {
			if p.schema["enum"] != nil {
				t.Errorf("%s: editors offer the words of an enum that is only asked for; use a pattern", p.path)
			}
			continue
		}
		for _, key := range []string{"not", "oneOf"} {
			if p.schema[key] != nil {
				t.Errorf("%s: %s has a message that says nothing; use properties that are false, or if with a pattern", p.path, key)
			}
		}
		if _, isText := p.schema["pattern"].(string); isText && p.schema["patternErrorMessage"] == nil {
			t.Errorf("%s: the pattern has no patternErrorMessage", p.path)
		}
		if p.schema["const"] != nil && strings.Contains(p.path, "/anyOf/") && p.schema["errorMessage"] == nil {
			t.Errorf("%s: the word has no errorMessage about what else can stand there", p.path)
		}
	}
}

// A title is that of everything below, and of each alternative once more.
func TestEditorsExplainEveryKeyOnce(t *testing.T) {
	all := map[string]map[string]any{}
	for _, p := range places(t) {
		all[p.path] = p.schema
	}
	explained := func(s map[string]any) bool {
		for s["description"] == nil && s["$ref"] != nil {
			s = all[s["$ref"].(string)]
		}
		return s["description"] != nil
	}
	for path, s := range all {
		if s["title"] != nil {
			t.Errorf("%s has a title", path)
		}
		for key := range s {
			if s["$ref"] != nil && key != "$ref" && key != "description" && key != "x-example" { // the last is for docs/catalogue-keys.md
				t.Errorf("%s: editors pass over %s beside $ref", path, key)
			}
		}
		_, _, isProperty := cutLast(path, "/properties/")
		_, last, _ := cutLast(path, "/")
		if (isProperty || last == "additionalProperties") && s["type"] != nil && all[strings.TrimSuffix(path, "/"+last)]["type"] == "object" && !explained(s) {
			t.Errorf("%s is not explained", path)
		}
	}
	for path, p := range properties(t) {
		if p["description"] == nil {
			t.Errorf("%s is not explained", path)
		}
	}
}
