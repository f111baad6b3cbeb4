package edit

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
)

// RenameField renames a field, also in partition_by, dedupe_by, await_by and limits. If that changes its name in JSON, it also
// changes examples and payloads of schedules, and keeps the old name in JSON as a former name, so that stored events
// can be read. The path names the field: order.placed.total, Money.amount, or
// a field of a struct or variant in place, as in order.placed.ship_to.street.
func RenameField(c *Catalogue, path, to string) (*Change, error) {
	return renameField(c, path, to, false)
}

// RenameFieldInGo is like RenameField, but the field keeps its name in JSON, which is written beside its type if the
// new name would change it.
func RenameFieldInGo(c *Catalogue, path, to string) (*Change, error) {
	return renameField(c, path, to, true)
}

func renameField(c *Catalogue, path, to string, keep bool) (*Change, error) {
	e, err := newEditor(c)
	if err != nil {
		return nil, err
	}
	parsed, findings := c.parse(nil)
	field, err := e.fieldAt(path)
	switch {
	case err != nil && parsed != nil:
		owner := ownerIn(path)
		if there := broughtByMixin(parsed, owner, strings.TrimPrefix(path, owner+".")); there != "" {
			err = &MixedInError{path, there}
		}
		return nil, err
	case err != nil:
		return nil, err
	case findings != nil:
		return nil, findings
	}
	key := field.key
	from, now := jsonNames(parsed, e.position(key), to)
	e.remark = "Its name in JSON stays " + from + ".\n"
	switch {
	case from == now:
	case keep:
		e.describe(field, "json", jsonText(from))
	default:
		e.keepWas(field, from, now)
		e.inExamples(parsed, key, from, now)
		e.remark = "Stored events are read by its old name in JSON too, which is kept under was.\n"
	}
	e.scalar(key, key.Value, to)
	e.inKeys(parsed, key, to)
	e.inLimits(parsed, key, to)
	return e.change()
}

// jsonNames returns the name in JSON of the field at a position, and the one that it has with another name in the
// catalogue.
func jsonNames(c *catalog.Catalogue, at diag.Position, to string) (before, after string) {
	find := func(fields []*catalog.Field) {
		for _, f := range fields {
			if f.Name.Pos == at {
				if before, after = f.Name.V, f.Name.V; !f.OwnJSON.Written() {
					after = f.JSONNames.Of(to)
				}
			}
		}
	}
	for _, e := range c.Events {
		find(e.Fields)
	}
	for _, t := range c.Types {
		find(t.Fields)
	}
	return before, after
}

// position returns where a node is.
func (e *editor) position(n *yaml.Node) diag.Position {
	return diag.Position{File: e.home[n].name, Line: n.Line, Column: n.Column}
}

// A foundField is a field and its place in a file.
type foundField struct {
	home      *document
	key, body *yaml.Node
	path      []string   // the path to its body
	owner     *yaml.Node // the body of the event or type around it
}

// fieldAt finds a field.
func (e *editor) fieldAt(path string) (found foundField, err error) {
	var missing error = &NotFoundError{What: "event or type with fields", Name: ownerIn(path), Names: append(e.names("events"), e.names("types")...)}
	for _, section := range []string{"events", "types"} {
		e.each(section, func(name, body *yaml.Node) {
			rest, ok := strings.CutPrefix(path, name.Value+".")
			if !ok || found.key != nil {
				return
			}
			for within, fields := range fieldsOf(body) {
				tail, ok := strings.CutPrefix(rest, within)
				if !ok {
					continue
				}
				if missing = found.descend(fields.node, tail, strings.TrimSuffix(path, "."+tail)); missing == nil {
					found.home, found.owner = e.home[name], body
					found.path = slices.Concat([]string{section, name.Value}, fields.path, found.path)
					return
				}
			}
		})
	}
	if found.key == nil {
		return foundField{}, missing
	}
	return found, nil
}

// ownerIn returns the event or type that a path without a field names.
func ownerIn(path string) string {
	if at := strings.LastIndexByte(path, '.'); at > 0 {
		return path[:at]
	}
	return path
}

// fieldsOf returns the mappings of fields in the body of an event or a type, with their paths.
func fieldsOf(body *yaml.Node) map[string]placed {
	all := map[string]placed{}
	for _, key := range []string{"payload", "fields"} {
		if fields := below(body, key); fields != nil {
			all[""] = placed{fields, []string{key}}
		}
	}
	eachPair(below(body, "one_of"), func(name, variant *yaml.Node) {
		if fields := below(variant, "fields"); fields != nil {
			all[name.Value+"."] = placed{fields, []string{"one_of", name.Value, "fields"}}
		}
	})
	return all
}

// placed is a node with the path to it from another node.
type placed struct {
	node *yaml.Node
	path []string
}

// descend follows a path through structs in place. The error names what is missing in within.
func (f *foundField) descend(fields *yaml.Node, path, within string) error {
	name, rest, further := strings.Cut(path, ".")
	key, body := value(fields, name)
	switch {
	case key == nil:
		return &NotFoundError{What: "field", Name: name, Within: within, Names: names(fields)}
	case !further:
		f.key, f.body, f.path = key, body, []string{name}
		return nil
	}
	inner := below(body, "fields")
	if inner == nil {
		return &NotFoundError{What: "struct in place", Name: name, Within: within}
	}
	err := f.descend(inner, rest, within+"."+name)
	f.path = append([]string{name, "fields"}, f.path...)
	return err
}
