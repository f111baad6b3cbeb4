package export

import "github.com/busgen/busgen/internal/catalog"

// patternSubscriptions returns the subscriptions for patterns. An operation of AsyncAPI has one channel, so they have
// no operations.
func patternSubscriptions(c *catalog.Catalogue) object {
	all := object{}
	for _, s := range c.Subscriptions {
		one := object{}
		one.text("doc", s.Doc)
		one.set("pattern", s.Texts())
		if s.Group != nil {
			one.set("group", s.Group.Name.V)
		}
		settings := object{}
		for _, setting := range s.Settings.Own() {
			settings.set(setting.Key, setting.Value)
		}
		if uses := s.Settings.Limits.V; len(uses) > 0 {
			var texts []string
			for _, use := range uses {
				texts = append(texts, useInJSON(s.Events[0], use))
			}
			settings.set("limits", texts)
		}
		if b := s.Settings.Breaker; b.By.Written() && !b.Off.V {
			settings.set("breaker.by", inJSON(s.Events[0], b.By.V))
		}
		if len(settings) > 0 {
			one.set("settings", settings)
		}
		all.add(s.Name.V, one)
	}
	return all
}
