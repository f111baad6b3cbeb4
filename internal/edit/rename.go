package edit

import (
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/glob"
)

// NotFoundError reports that nothing has the name that should be renamed.
type NotFoundError struct {
	What, Name string
	Within     string   // the event or type without such a part; empty for the catalogue
	Names      []string // the names that exist
}

// Error says which name is missing, and suggests another.
func (e *NotFoundError) Error() string {
	text := "there is no " + e.What + " " + e.Name
	if e.Within != "" {
		text += " in " + e.Within
	}
	return text
}

// RenameEvent renames an event type, also in its schedules, and in policies, patterns of subscriptions and lint exceptions that match
// it alone. If that changes its name on the wire, it keeps the old one as an alias.
func RenameEvent(c *Catalogue, from, to string) (*Change, error) {
	return renameEvent(c, from, to, false)
}

// RenameEventInGo is like RenameEvent, but the event keeps its name on the wire, which is written if the event has
// none of its own.
func RenameEventInGo(c *Catalogue, from, to string) (*Change, error) {
	return renameEvent(c, from, to, true)
}

func renameEvent(c *Catalogue, from, to string, keep bool) (*Change, error) {
	e, err := newEditor(c)
	if err != nil {
		return nil, err
	}
	key := e.key("events", from)
	if key == nil {
		return nil, &NotFoundError{What: "event", Name: from, Names: e.names("events")}
	}
	if err := glob.ValidName(to); err != nil {
		return nil, fmt.Errorf("%s cannot be the name of an event: %w", to, err)
	}
	about := former{e.home[key], []string{"events", from}, eventKeys}
	switch wire := below(about.home.at(about.path...), "wire"); {
	case wire != nil:
		e.remark = "Its name on the wire stays " + wire.Value + ".\n"
	case keep:
		e.remark = "Its name on the wire stays " + from + ".\n"
		e.insert(about, "wire", from)
	default:
		e.keepName(about, from, to)
	}
	e.scalar(key, from, to)
	if key := e.key("policies", from); key != nil {
		e.scalar(key, from, to)
	}
	e.each("schedules", func(_, body *yaml.Node) {
		if event := below(body, "event"); event != nil && event.Value == from {
			e.scalar(event, from, to)
		}
	})
	if wire := below(about.home.at(about.path...), "wire"); wire == nil && !keep {
		e.patterns(from, to)
	}
	e.exceptions(from, to)
	return e.change()
}

// patterns renames an event in the patterns of subscriptions that are its name on the wire.
func (e *editor) patterns(from, to string) {
	e.each("subscriptions", func(_, body *yaml.Node) {
		pattern := below(body, "pattern")
		if pattern == nil {
			return
		}
		for _, one := range append([]*yaml.Node{pattern}, pattern.Content...) {
			if one.Kind == yaml.ScalarNode && one.Value == from {
				e.scalar(one, from, to)
			}
		}
	})
}

// RenameType renames a type wherever it is used.
func RenameType(c *Catalogue, from, to string) (*Change, error) {
	e, err := newEditor(c)
	if err != nil {
		return nil, err
	}
	key := e.key("types", from)
	if key == nil {
		return nil, &NotFoundError{What: "type", Name: from, Names: e.names("types")}
	}
	e.scalar(key, from, to)
	for _, fields := range e.allFields() {
		e.typesOf(fields, from, to)
	}
	e.each("types", func(_, body *yaml.Node) { e.typesOf(below(body, "one_of"), from, to) })
	e.inMixins(from, to)
	e.exceptions(from, to)
	return e.change()
}

// exceptions replaces the name of an event or a type in the exceptions of lint rules.
func (e *editor) exceptions(from, to string) {
	e.exceptionsOf(func(rule string) bool { return rule != rules.UnusedLimit.ID }, from, to)
}

// exceptionsOf replaces a name in the exceptions of some lint rules.
func (e *editor) exceptionsOf(some func(rule string) bool, from, to string) {
	e.each("lint", func(rule, setting *yaml.Node) {
		except := below(setting, "except")
		if except == nil || !some(rule.Value) {
			return
		}
		for _, pattern := range except.Content {
			if pattern.Value == from {
				e.scalar(pattern, from, to)
			}
		}
	})
}

// allFields returns the mappings that declare fields.
func (e *editor) allFields() []*yaml.Node {
	var all []*yaml.Node
	add := func(fields *yaml.Node) {
		if fields != nil {
			all = append(all, fields)
		}
	}
	e.each("types", func(_, body *yaml.Node) { add(below(body, "fields")) })
	e.each("events", func(_, body *yaml.Node) {
		add(below(body, "payload"))
		eachPair(below(body, "history"), func(_, old *yaml.Node) { add(below(old, "payload")) })
	})
	return all
}

// below returns the value of a key, or nil if there is none.
func below(mapping *yaml.Node, key string) *yaml.Node {
	_, val := value(mapping, key)
	return val
}

// typesOf replaces the name of a type in fields and variants.
func (e *editor) typesOf(fields *yaml.Node, from, to string) {
	eachPair(fields, func(_, field *yaml.Node) {
		text := field
		if field.Kind == yaml.MappingNode {
			text = below(field, "type")
			e.typesOf(below(field, "fields"), from, to)
		}
		if text != nil && text.Kind == yaml.ScalarNode && typeIn(text.Value) == from {
			e.scalar(text, from, to)
		}
	})
}

// typeIn returns the name at the end of the text of a type: Money for []Money?.
func typeIn(text string) string {
	text, _ = catalog.CutMark(text)
	return text[strings.LastIndexByte(text, ']')+1:]
}
