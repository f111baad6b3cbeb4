package importer

import "gopkg.in/yaml.v3"

// patternSubscriptions returns the subscriptions for patterns, as busgen exports them, or nil for none.
func (r *asyncReader) patternSubscriptions() *yaml.Node {
	all := mapping()
	for _, m := range r.root.get("x-busgen").get("subscriptions").properties() {
		pattern := m.value.get("pattern")
		name := r.subscriptions.unique(m.name)
		if name != m.name {
			r.rename(aSubscription, m.name, name, m.at)
		}
		body := mapping()
		r.addText(body, "doc", m.value.str("doc"), m.value.at("doc"))
		switch {
		case pattern.is(list) && len(pattern.items) == 1:
			r.add(body, "pattern", r.yamlOf(pattern.items[0]), pattern.place)
		case pattern != nil:
			r.add(body, "pattern", r.yamlOf(pattern), pattern.place)
		}
		r.addText(body, "group", m.value.str("group"), m.value.at("group"))
		r.settings(body, m.value.get("settings"), map[string]string{})
		r.add(all, name, body, m.at)
	}
	if len(all.Content) == 0 {
		return nil
	}
	return all
}
