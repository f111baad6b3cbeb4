package importer

import (
	"encoding/json"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse"
)

// builtIn are the settings of an event that sets none, by their paths.
func builtIn() map[string]string {
	all := map[string]string{}
	for key, value := range builtInOnce() {
		all[key] = value
	}
	return all
}

var builtInOnce = sync.OnceValue(func() map[string]string {
	c, _ := parse.Text("", []byte("version: 1\npackage: p\nevents: { e: {} }\n"))
	all := map[string]string{}
	for _, s := range c.Events[0].Settings.List() {
		value, _ := json.Marshal(s.Value) // it is a number or text, or a list of texts
		all[s.Key] = strings.Trim(string(value), `"`)
	}
	return all
})

func settingText(n *node) string {
	if n.is(list) {
		var items []string
		for _, item := range n.items {
			items = append(items, `"`+item.text+`"`)
		}
		return "[" + strings.Join(items, ",") + "]"
	}
	return n.text
}

// settings adds the settings that are not those of base.
func (r *asyncReader) settings(body *yaml.Node, settings *node, base map[string]string) {
	for _, m := range settings.properties() {
		name := catalog.PresentKey(m.name)
		if base[name] == settingText(m.value) {
			continue
		}
		path := strings.Split(name, ".")
		value := r.yamlOf(m.value)
		switch {
		case m.name == "redrive.reasons" && m.value.text == "all":
			value = nil // it goes without saying
		case path[0] == "errors" && m.value.text == "as any other":
			path, value = append(path, "retry"), flow(mapping())
		case path[0] == "errors" && len(path) > 2:
			path = append([]string{"errors", path[1], "retry"}, path[2:]...)
		}
		at := body
		for _, key := range path[:len(path)-1] {
			i := find(at, key)
			if i < 0 {
				r.add(at, key, mapping(), m.at)
				i = len(at.Content) - 1
			}
			if at = at.Content[i]; at.Kind != yaml.MappingNode {
				break
			}
		}
		if value != nil && at.Kind == yaml.MappingNode {
			r.add(at, path[len(path)-1], value, m.at)
		}
	}
}
