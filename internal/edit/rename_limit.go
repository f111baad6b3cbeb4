package edit

import (
	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/diag/rules"
)

// RenameLimit renames a limit, also in the settings that name it, and among the exceptions of the lint rule
// about limits.
func RenameLimit(c *Catalogue, from, to string) (*Change, error) {
	e, err := newEditor(c)
	if err != nil {
		return nil, err
	}
	key := e.key("limits", from)
	if key == nil {
		return nil, &NotFoundError{What: "limit", Name: from, Names: e.names("limits")}
	}
	e.scalar(key, from, to)
	e.eachSettings(func(settings *yaml.Node) { e.usesOf(below(settings, "limits"), from, to) })
	e.exceptionsOf(func(rule string) bool { return rule == rules.UnusedLimit.ID }, from, to)
	return e.change()
}

// eachSettings visits the mappings that have settings.
func (e *editor) eachSettings(visit func(settings *yaml.Node)) {
	for _, d := range e.documents {
		visit(d.at("defaults"))
	}
	e.each("policies", func(_, policy *yaml.Node) { visit(policy) })
	e.each("events", func(_, event *yaml.Node) {
		visit(event)
		eachPair(below(event, "subscriptions"), func(_, s *yaml.Node) { visit(s) })
	})
}

// usesOf replaces the name of a limit in a list such as [bank, { limit: mail, by: customer }].
func (e *editor) usesOf(uses *yaml.Node, from, to string) {
	if uses == nil || uses.Kind != yaml.SequenceNode {
		return // off
	}
	for _, use := range uses.Content {
		if use.Kind == yaml.MappingNode {
			use = below(use, "limit")
		}
		if use != nil && use.Value == from {
			e.scalar(use, from, to)
		}
	}
}
