package edit

import (
	"strings"

	"gopkg.in/yaml.v3"
)

// RenameField renames a field, also in examples and where the event is kept in order by
// it. The path leads to it: order.placed.total, Money.amount, or on to the fields of
// a struct in place or of a variant in place, as in order.placed.ship_to.street. That is another
// key in the JSON, so what was stored before is read as if the field were not there.
func RenameField(c *Catalogue, path, to string) (*Change, error) {
	e, err := newEditor(c)
	if err != nil {
		return nil, err
	}
	key, owner, err := e.fieldAt(path)
	if err != nil {
		return nil, err
	}
	parsed, findings := c.parse(nil)
	if findings != nil {
		return nil, findings
	}
	e.scalar(key, key.Value, to)
	if by := below(owner, "partition_by"); by != nil && by.Value == key.Value {
		if own, _ := value(below(owner, "payload"), key.Value); own == key {
			e.scalar(by, key.Value, to)
		}
	}
	e.inExamples(parsed, key, to)
	return e.change()
}

// fieldAt finds a field, and the body of the event or type around it.
func (e *editor) fieldAt(path string) (key, owner *yaml.Node, err error) {
	var missing error = &NotFoundError{What: "event or type with fields", Name: ownerIn(path), Names: append(e.names("events"), e.names("types")...)}
	for _, section := range []string{"events", "types"} {
		e.each(section, func(name, body *yaml.Node) {
			rest, ok := strings.CutPrefix(path, name.Value+".")
			if !ok || key != nil {
				return
			}
			for within, fields := range fieldsOf(body) {
				tail, ok := strings.CutPrefix(rest, within)
				if !ok {
					continue
				}
				found, err := descend(fields, tail, strings.TrimSuffix(path, "."+tail))
				if found != nil {
					key, owner = found, body
					return
				}
				missing = err
			}
		})
	}
	if key == nil {
		return nil, nil, missing
	}
	return key, owner, nil
}

// ownerIn is what a path without a field would be.
func ownerIn(path string) string {
	if at := strings.LastIndexByte(path, '.'); at > 0 {
		return path[:at]
	}
	return path
}

// fieldsOf are the mappings of fields that the body of an event or a type has, by what
// leads to them.
func fieldsOf(body *yaml.Node) map[string]*yaml.Node {
	all := map[string]*yaml.Node{}
	for _, key := range []string{"payload", "fields"} {
		if fields := below(body, key); fields != nil {
			all[""] = fields
		}
	}
	eachPair(below(body, "one_of"), func(name, variant *yaml.Node) {
		if fields := below(variant, "fields"); fields != nil {
			all[name.Value+"."] = fields
		}
	})
	return all
}

// descend follows a path through structs in place. The error says what is not there in within.
func descend(fields *yaml.Node, path, within string) (*yaml.Node, error) {
	name, rest, further := strings.Cut(path, ".")
	key, body := value(fields, name)
	if key == nil {
		return nil, &NotFoundError{What: "field", Name: name, Within: within, Names: names(fields)}
	}
	if !further {
		return key, nil
	}
	inner := below(body, "fields")
	if inner == nil {
		return nil, &NotFoundError{What: "struct in place", Name: name, Within: within}
	}
	return descend(inner, rest, within+"."+name)
}
