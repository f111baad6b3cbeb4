package importer

import "gopkg.in/yaml.v3"

// lonelyGroups returns an entry for each group of one subscription, which a catalogue needs to have one.
func lonelyGroups(events, patterns *yaml.Node) *yaml.Node {
	var names []string
	members := map[string]int{}
	count := func(subscriptions *yaml.Node) {
		for j := 1; j < len(subscriptions.Content); j += 2 {
			if at := find(subscriptions.Content[j], "group"); at >= 0 {
				name := subscriptions.Content[j].Content[at].Value
				names = append(names, name)
				members[name]++
			}
		}
	}
	for i := 1; i < len(events.Content); i += 2 {
		if at := find(events.Content[i], "subscriptions"); at >= 0 {
			count(events.Content[i].Content[at])
		}
	}
	if patterns != nil {
		count(patterns)
	}
	groups := mapping()
	for _, name := range names {
		if members[name] == 1 {
			set(groups, name, flow(mapping()))
		}
	}
	return groups
}
