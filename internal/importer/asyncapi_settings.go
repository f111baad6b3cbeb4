package importer

import (
	"encoding/json"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/importer/draft"
	"github.com/busgen/busgen/internal/importer/findings"
	"github.com/busgen/busgen/internal/importer/tree"
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

func settingText(n *tree.Node) string {
	if n.Is(tree.List) {
		var items []string
		for _, item := range n.Items {
			items = append(items, `"`+item.Text+`"`)
		}
		return "[" + strings.Join(items, ",") + "]"
	}
	return n.Text
}

// settings adds the settings that are not those of base.
func (r *asyncReader) settings(body *yaml.Node, settings *tree.Node, base map[string]string) {
	for _, m := range settings.Properties() {
		name := m.Name
		if base[name] == settingText(m.Value) {
			continue
		}
		path := strings.Split(name, ".")
		value := r.catalogue.Value(m.Value)
		switch {
		case m.Name == "redrive.reasons" && m.Value.Text == "all":
			value = nil // it goes without saying
		case name == "limits" && m.Value.Is(tree.List):
			value = r.limitUses(m.Value)
		case path[0] == "errors" && m.Value.Text == "as any other":
			path, value = append(path, "retry"), draft.Flow(draft.Mapping())
		case path[0] == "errors" && len(path) > 2:
			path = append([]string{"errors", path[1], "retry"}, path[2:]...)
		}
		at := body
		for _, key := range path[:len(path)-1] {
			inner := draft.Get(at, key)
			if inner == nil {
				inner = draft.Mapping()
				r.catalogue.Add(at, key, inner, m.At)
			}
			if at = inner; at.Kind != yaml.MappingNode {
				break
			}
		}
		if value != nil && at.Kind == yaml.MappingNode {
			r.catalogue.Add(at, path[len(path)-1], value, m.At)
		}
	}
}

// schedulesOf adds the schedules that publish an event, as busgen exports them.
func (r *asyncReader) schedulesOf(event string, list *tree.Node) {
	for _, n := range list.Elements() {
		name := n.Str("name")
		if name == "" || draft.Get(r.catalogue.Schedules, name) != nil {
			r.Note(n.Place, "a schedule of %s has no name, or that of another schedule; it is left out", event)
			continue
		}
		body := draft.Mapping()
		r.catalogue.AddText(body, "doc", n.Str("doc"), n.At("doc"))
		r.catalogue.Add(body, "event", draft.Text(event), n.Place)
		for _, key := range []string{"cron", "every", "time_zone", "missed"} {
			r.catalogue.AddText(body, key, n.Str(key), n.At(key))
		}
		if payload := n.Get("payload"); payload.Is(tree.Object) && len(payload.Members) > 0 {
			r.catalogue.Add(body, "payload", r.catalogue.Value(payload), n.At("payload"))
		}
		r.catalogue.Add(r.catalogue.Schedules, name, body, n.Place)
	}
}

// limitUses turns texts such as mail by customer.email into what settings have.
func (r *asyncReader) limitUses(n *tree.Node) *yaml.Node {
	uses := draft.Flow(&yaml.Node{Kind: yaml.SequenceNode})
	for _, item := range n.Items {
		limit, by, keyed := strings.Cut(item.Text, " by ")
		if !keyed {
			uses.Content = append(uses.Content, r.catalogue.Value(item))
			continue
		}
		use := draft.Flow(draft.Mapping())
		draft.Set(use, "limit", draft.Text(limit))
		draft.Set(use, "by", draft.Text(by))
		uses.Content = append(uses.Content, use)
	}
	return uses
}

// patternSubscriptions adds the subscriptions for patterns, as busgen exports them.
func (r *asyncReader) patternSubscriptions() {
	for _, m := range r.root.Get("x-busgen").Get("subscriptions").Properties() {
		pattern := m.Value.Get("pattern")
		name := r.subscriptions.Unique(m.Name)
		if name != m.Name {
			r.Rename(findings.Subscription, m.Name, name, m.At)
		}
		body := draft.Mapping()
		r.catalogue.AddText(body, "doc", m.Value.Str("doc"), m.Value.At("doc"))
		if all := pattern.Elements(); len(all) == 1 {
			pattern = all[0]
		}
		if pattern != nil {
			r.catalogue.Add(body, "pattern", r.catalogue.Value(pattern), m.Value.Get("pattern").Place)
		}
		r.catalogue.AddText(body, "group", m.Value.Str("group"), m.Value.At("group"))
		r.settings(body, m.Value.Get("settings"), map[string]string{})
		r.catalogue.Add(r.catalogue.Subscriptions, name, body, m.At)
	}
}
