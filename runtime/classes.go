package runtime

import (
	"maps"
	"slices"
)

// reportClasses logs, once for each, the classes of errors that the settings in force
// have rules for and that nobody has registered. It is no reason to refuse: a program
// that only records events cannot tell whose errors these are. The caller holds mu.
func (b *Bus) reportClasses() {
	if b.state != running {
		return // when it is started
	}
	missing := map[string]map[string]bool{} // the subscriptions, by class
	for _, s := range b.subscriptions {
		for _, settings := range s.inForce.Load().types {
			for _, rule := range settings.Errors {
				if b.config.classes[rule.Class] != nil || b.missing[rule.Class] {
					continue
				}
				if missing[rule.Class] == nil {
					missing[rule.Class] = map[string]bool{}
				}
				missing[rule.Class][s.name] = true
			}
		}
	}
	for _, class := range slices.Sorted(maps.Keys(missing)) {
		if b.missing == nil {
			b.missing = map[string]bool{}
		}
		b.missing[class] = true
		b.config.logger.Error("the catalogue has a rule for a class of errors that is not registered with WithErrorClass; it never matches",
			"class", class, "subscriptions", slices.Sorted(maps.Keys(missing[class])))
	}
}
