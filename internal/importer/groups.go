package importer

import "gopkg.in/yaml.v3"

// lonelyGroups returns an entry for each group of one subscription, which a catalogue needs to have one.
func lonelyGroups(events *yaml.Node) *yaml.Node {
	var names []string
	members := map[string]int{}
	for i := 1; i < len(events.Content); i += 2 {
		at := find(events.Content[i], "subscriptions")
		if at < 0 {
			continue
		}
		subscriptions := events.Content[i].Content[at]
		for j := 1; j < len(subscriptions.Content); j += 2 {
			if at := find(subscriptions.Content[j], "group"); at >= 0 {
				name := subscriptions.Content[j].Content[at].Value
				names = append(names, name)
				members[name]++
			}
		}
	}
	groups := mapping()
	for _, name := range names {
		if members[name] == 1 {
			set(groups, name, flow(mapping()))
		}
	}
	return groups
}
