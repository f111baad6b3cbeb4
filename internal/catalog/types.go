package catalog

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"
)

var (
	typeName  = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)
	fieldName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
)

// typeSection reads `types:`. All names are known before the first body is
// read, so that types may refer to one another in any order.
func (r *reader) typeSection(root object) []*Type {
	e, ok := root.entries["types"]
	if !ok {
		return nil
	}
	entries, _ := r.mapping(e.value, "types")
	var types []*Type
	for _, e := range entries {
		t := &Type{Name: Value[string]{V: e.name, Pos: r.position(e.key)}}
		types = append(types, t)
		r.types[e.name] = t
		if !typeName.MatchString(e.name) {
			r.report(r.place(e.key), RuleBadName, "type %s is not a name for a type", label(e.name)).
				Hint = "begin with a capital and go on with letters and digits, as in OrderLine"
		}
	}
	for i, e := range entries {
		r.typeBody(e, types[i])
	}
	r.checkRecursion(types)
	return types
}

func (r *reader) typeBody(e entry, t *Type) {
	o, ok := r.object(e.value, "type "+label(e.name), "doc", "fields", "enum")
	if !ok {
		return
	}
	t.Doc = r.doc(o)
	fields, isStruct := o.entries["fields"]
	enum, isEnum := o.entries["enum"]
	switch {
	case isStruct && isEnum:
		r.report(r.place(enum.key), RuleConflict, "%s has fields and enum", o.what).
			see(r.place(fields.key), "fields is here").
			Hint = "a type is a struct or an enum: keep one of them"
	case isStruct:
		t.Fields = r.fields(fields.value, o.what)
	case isEnum:
		t.Values = r.enumValues(enum.value, t)
	default:
		r.report(r.place(e.key), RuleMissingKey, "%s has neither fields nor enum", o.what).
			Hint = "write fields for a struct, or enum for a list of values"
	}
}

func (r *reader) enumValues(n *yaml.Node, t *Type) []*EnumValue {
	what := "enum of type " + label(t.Name.V)
	if n.Kind != yaml.SequenceNode {
		r.wrongKind(n, what, "a list")
		return nil
	}
	if len(n.Content) == 0 {
		r.report(r.place(n), RuleEnum, "%s has no values", what)
		return nil
	}
	var values []*EnumValue
	first := map[string]*yaml.Node{}
	for _, item := range n.Content {
		text, ok := r.text(item, "a value of "+what)
		if !ok {
			continue
		}
		name := GoName(text.V)
		switch {
		case first[text.V] != nil:
			r.report(r.place(item), RuleEnum, "value %q is already in %s", text.V, what).
				see(r.place(first[text.V]), "it is here")
			continue
		case name == "" || strings.ContainsFunc(text.V, func(c rune) bool { return !unicode.IsPrint(c) }):
			r.report(r.place(item), RuleEnum, "value %q of %s cannot be the name of a Go constant", text.V, what).
				Hint = "a value needs a letter or a digit and no control characters"
			continue
		}
		first[text.V] = item
		values = append(values, &EnumValue{Name: text, GoName: t.Name.V + name})
	}
	return values
}

// fields reads a payload or the fields of a struct.
func (r *reader) fields(n *yaml.Node, what string) []*Field {
	entries, _ := r.mapping(n, what)
	var fields []*Field
	for _, e := range entries {
		if f := r.field(e, what); f != nil {
			fields = append(fields, f)
		}
	}
	return fields
}

// field reads one field: the text of its type, or a mapping with type and doc.
func (r *reader) field(e entry, what string) *Field {
	f := &Field{Name: Value[string]{V: e.name, Pos: r.position(e.key)}, GoName: GoName(e.name)}
	here := "field " + label(e.name) + " of " + what
	if !fieldName.MatchString(e.name) {
		r.report(r.place(e.key), RuleBadName, "%s is not a name for a field", here).
			Hint = "use lower-case letters, digits and _, and begin with a letter, as in order_id"
	}
	typeNode := e.value
	if e.value.Kind == yaml.MappingNode {
		o, _ := r.object(e.value, here, "type", "doc")
		f.Doc = r.doc(o)
		typeEntry, ok := r.required(o, "type", "add one, such as type: string")
		if !ok {
			return nil
		}
		typeNode = typeEntry.value
	}
	if f.Type = r.typeRef(typeNode, here); f.Type == nil {
		return nil
	}
	return f
}

// checkRecursion reports structs that contain themselves directly: no value of
// such a type could ever be complete. Lists, maps and optional fields may be
// empty and so end the recursion.
func (r *reader) checkRecursion(types []*Type) {
	done := map[*Type]bool{}
	var path []*Type
	var visit func(t *Type)
	visit = func(t *Type) {
		path = append(path, t)
		for _, f := range t.Fields {
			next := f.Type.Named
			if next == nil || f.Type.Optional || done[next] {
				continue
			}
			if i := slices.Index(path, next); i >= 0 {
				r.recursive(f, path[i:])
				continue
			}
			visit(next)
		}
		path = path[:len(path)-1]
		done[t] = true
	}
	for _, t := range types {
		if !done[t] {
			visit(t)
		}
	}
}

func (r *reader) recursive(f *Field, cycle []*Type) {
	var chain strings.Builder
	for _, t := range cycle {
		chain.WriteString(t.Name.V + " → ")
	}
	r.report(r.typeAt(f.Type), RuleRecursiveType, "type %s contains itself: %s%s",
		cycle[0].Name.V, chain.String(), cycle[0].Name.V).
		Hint = "make a field on the way optional (" + f.Type.Text + "?) or a list"
}
