package draft

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
)

// A fieldKey is a field with the name that it has in JSON, which is that of a property of the document.
type fieldKey struct {
	fields, key *yaml.Node // the mapping of fields, and its key there
	json        string
}

// AddField adds a field that has the name of a property in JSON.
func (dr *Catalogue) AddField(fields *yaml.Node, name, json string, value *yaml.Node, at diag.Place) {
	dr.Add(fields, name, value, at)
	dr.keys = append(dr.keys, fieldKey{fields, fields.Content[len(fields.Content)-2], json})
}

// nameInJSON says for all fields how they are called in JSON: by the json_names that fits most of them, and by
// json for the others.
func (dr *Catalogue) nameInJSON(root *yaml.Node) {
	least := -1
	var style string
	for _, one := range []string{"snake", "camel", "pascal"} {
		others := 0
		for _, k := range dr.keys {
			if catalog.JSONNamesBy[one].Of(k.key.Value) != k.json {
				others++
			}
		}
		if least < 0 || others < least {
			least, style = others, one
		}
	}
	names := catalog.JSONNamesBy[style]
	if names != catalog.Snake {
		Set(root, "json_names", Plain(style))
	}
	for _, k := range dr.keys {
		if i := slices.Index(k.fields.Content, k.key); i >= 0 && names.Of(k.key.Value) != k.json {
			k.fields.Content[i+1] = withJSON(k.fields.Content[i+1], k.json)
		}
	}
}

// withJSON returns the body of a field with a name in JSON, which is behind its type.
func withJSON(body *yaml.Node, json string) *yaml.Node {
	if body.Kind == yaml.ScalarNode {
		long := Mapping()
		Set(long, "type", body)
		body = long
	}
	at := 0
	if i := slices.Index(body.Content, Get(body, "type")); i >= 0 {
		at = i + 1
	}
	body.Content = slices.Insert(body.Content, at, Text("json"), Text(json))
	return body
}

// anyJSON is the body of a field that takes any JSON under the name that it has.
func anyJSON(body *yaml.Node) *yaml.Node {
	if name := Get(body, "json"); name != nil {
		return withJSON(Text("json"), name.Value)
	}
	return Text("json")
}

// isAnyJSON tells the bodies that anyJSON makes.
func isAnyJSON(body *yaml.Node) bool {
	if body.Kind == yaml.ScalarNode {
		return body.Value == "json"
	}
	of := Get(body, "type")
	return len(body.Content) == 4 && Get(body, "json") != nil && of != nil && of.Value == "json"
}

// localPath returns what the catalogue calls the field to which a path of names in JSON leads from the body of an
// event or type; the path itself if it leads nowhere.
func (dr *Catalogue) localPath(root, body *yaml.Node, path string) string {
	if local, ok := dr.localNames(root, body, path, 0); ok {
		return local
	}
	return path
}

// maxPath bounds how many structs a path leads through.
const maxPath = 32

func (dr *Catalogue) localNames(root, body *yaml.Node, path string, depth int) (string, bool) {
	fields := Get(body, "payload")
	if fields == nil {
		fields = Get(body, "fields")
	}
	if fields == nil || depth > maxPath {
		return "", false
	}
	for _, k := range dr.keys {
		if k.fields != fields {
			continue
		}
		if k.json == path {
			return k.key.Value, true
		}
		rest, ok := strings.CutPrefix(path, k.json+".")
		i := slices.Index(fields.Content, k.key)
		if !ok || i < 0 {
			continue
		}
		within := fields.Content[i+1]
		kind := within.Value
		if t := Get(within, "type"); t != nil {
			kind = t.Value
		}
		if named := Get(Get(root, "types"), kind); named != nil {
			within = named
		}
		if local, ok := dr.localNames(root, within, rest, depth+1); ok {
			return k.key.Value + "." + local, true
		}
	}
	return "", false
}

// nameKeys puts the names of the catalogue into partition_by, dedupe_by, await_by and the keys of limits, which documents
// have as paths of names in JSON.
func (dr *Catalogue) nameKeys(root *yaml.Node) {
	local := func(body, name *yaml.Node) {
		if name != nil && name.Kind == yaml.ScalarNode {
			name.Value = dr.localPath(root, body, name.Value)
		}
	}
	limits := func(event, settings *yaml.Node) {
		if uses := Get(settings, "limits"); uses != nil {
			for _, use := range uses.Content {
				local(event, Get(use, "by"))
			}
		}
	}
	for _, event := range entries(dr.Events) {
		for _, key := range []string{"partition_by", "dedupe_by", "await_by"} {
			local(*event, Get(*event, key))
		}
		limits(*event, *event)
		for _, s := range entries(Get(*event, "subscriptions")) {
			limits(*event, *s)
		}
	}
}
