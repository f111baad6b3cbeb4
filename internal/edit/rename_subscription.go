package edit

import "gopkg.in/yaml.v3"

// RenameSubscription renames a declared subscription, and keeps the old name as an alias, so that the
// renamed subscription keeps its pending deliveries.
func RenameSubscription(c *Catalogue, from, to string) (*Change, error) {
	e, err := newEditor(c)
	if err != nil {
		return nil, err
	}
	var found *yaml.Node
	var all []string
	e.each("events", func(event, body *yaml.Node) {
		eachPair(below(body, "subscriptions"), func(key, _ *yaml.Node) {
			all = append(all, key.Value)
			if key.Value == from {
				found = key
				e.keepName(former{e.home[key], []string{"events", event.Value, "subscriptions", from}, subscriptionKeys}, from, to)
			}
		})
	})
	e.each("subscriptions", func(key, _ *yaml.Node) {
		all = append(all, key.Value)
		if key.Value == from {
			found = key
			e.keepName(former{e.home[key], []string{"subscriptions", from}, patternKeys}, from, to)
		}
	})
	if found == nil {
		return nil, &NotFoundError{What: "declared subscription", Name: from, Names: all}
	}
	e.scalar(found, from, to)
	return e.change()
}
