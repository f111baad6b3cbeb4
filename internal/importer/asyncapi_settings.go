package importer

import (
	"encoding/json"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

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
		name := m.name
		if base[name] == settingText(m.value) {
			continue
		}
		path := strings.Split(name, ".")
		value := r.yamlOf(m.value)
		switch {
		case m.name == "redrive.reasons" && m.value.text == "all":
			value = nil // it goes without saying
		case name == "limits" && m.value.is(list):
			value = r.limitUses(m.value)
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

// schedulesOf adds the schedules that publish an event, as busgen exports them.
func (r *asyncReader) schedulesOf(event string, list *node) {
	for _, n := range list.elements() {
		name := n.str("name")
		if name == "" || find(r.schedules, name) >= 0 {
			r.note(n.place, "a schedule of %s has no name, or that of another schedule; it is left out", event)
			continue
		}
		body := mapping()
		r.addText(body, "doc", n.str("doc"), n.at("doc"))
		r.add(body, "event", textNode(event), n.place)
		for _, key := range []string{"cron", "every", "time_zone", "missed"} {
			r.addText(body, key, n.str(key), n.at(key))
		}
		if payload := n.get("payload"); payload.is(object) && len(payload.members) > 0 {
			r.add(body, "payload", r.yamlOf(payload), n.at("payload"))
		}
		r.add(r.schedules, name, body, n.place)
	}
}

// limitUses turns texts such as mail by customer.email into what settings have.
func (r *asyncReader) limitUses(n *node) *yaml.Node {
	uses := flow(&yaml.Node{Kind: yaml.SequenceNode})
	for _, item := range n.items {
		limit, by, keyed := strings.Cut(item.text, " by ")
		if !keyed {
			uses.Content = append(uses.Content, r.yamlOf(item))
			continue
		}
		use := flow(mapping())
		set(use, "limit", textNode(limit))
		set(use, "by", textNode(by))
		uses.Content = append(uses.Content, use)
	}
	return uses
}

// yamlOfLimits returns the limits that the document declares, or nil for none.
func (r *asyncReader) yamlOfLimits() *yaml.Node {
	limits := mapping()
	for _, m := range r.root.get("x-busgen").get("limits").properties() {
		r.add(limits, m.name, r.yamlOf(m.value), m.at)
	}
	if len(limits.Content) == 0 {
		return nil
	}
	return limits
}
