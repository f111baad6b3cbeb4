package importer

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag/rules"
)

// objectType is a struct, or a map if the properties are not known.
func (tm *typeMaker) objectType(u use, at spot) typing {
	s := u.schema
	if !isStruct(u) || onlySays(s, "type") || s.get("propertyNames") != nil && s.get("properties") == nil {
		return tm.mapType(s, at)
	}
	if named := nameable(s); named != s {
		for _, p := range s.get("properties").properties() {
			if reason := catalog.CheckJSONName(p.name); reason != "" {
				tm.report(p.at, rules.ImportName, "the property %s cannot be a field, so the object takes any JSON: %s", quoted(p.name), reason)
			}
		}
		if len(named.get("properties").properties()) > 0 {
			tm.declareStruct(u, at) // for the other properties
		}
		return typing{text: "json"}
	}
	if u.def != nil || tm.inPlace >= maxInPlace || at.field == "" {
		return typing{text: tm.declareStruct(u, at)}
	}
	tm.inPlace++
	defer func() { tm.inPlace-- }()
	return typing{text: "{}", fields: tm.fields(s, at.name())}
}

func (tm *typeMaker) declareStruct(u use, at spot) string {
	return tm.declare(u, at, func(own use, name string) *yaml.Node {
		body := mapping()
		tm.say(body, own, saying{name: name})
		tm.add(body, "fields", tm.fields(nameable(own.schema), name), own.schema.at("properties"))
		return body
	})
}

// nameable is an object without the properties whose names no field can have.
func nameable(s *node) *node {
	properties, required := s.get("properties"), s.get("required")
	for _, p := range s.get("properties").properties() {
		if catalog.CheckJSONName(p.name) != "" {
			properties = properties.without(p.name)
			if required.is(list) {
				required = required.withoutText(p.name)
			}
		}
	}
	if properties == s.get("properties") {
		return s
	}
	own := s.without("properties", "required")
	own.add("properties", s.at("properties"), properties)
	if required.is(list) {
		own.add("required", s.at("required"), required)
	}
	return own
}

// isStruct tells a struct from a map. An object of which nothing is known is a map
// where it is used, and a struct without fields where it is a definition.
func isStruct(u use) bool {
	s := u.schema
	if len(s.get("properties").properties()) > 0 || len(s.get("required").elements()) > 0 {
		return true
	}
	rest := s.get("additionalProperties")
	if s.get("patternProperties") != nil || rest.is(object) || rest.is(boolean) && rest.text == "true" {
		return false
	}
	return u.def != nil || rest.is(boolean) || s.get("properties") != nil
}

// mapType is a map to what additionalProperties are.
func (tm *typeMaker) mapType(s *node, at spot) typing {
	t := typing{text: "map[string]json"}
	rest, patterned := valuesOfMap(s)
	if patterned {
		tm.report(s.at("patternProperties"), rules.ImportConstraint, "the keys of a map have no constraints in a catalogue")
		s = s.without("patternProperties")
	}
	if rest.is(object) {
		t = tm.element("map[string]", rest, at)
	} else {
		tm.keepTypes(use{schema: s}, at)
	}
	t.scalar = false
	t.more = append(t.more, tm.count(s, "minProperties", "min_items", limitItems)...)
	t.more = append(t.more, tm.count(s, "maxProperties", "max_items", limitItems)...)
	tm.leftovers(s, "additionalProperties", "minProperties", "maxProperties", "properties", "required")
	return t
}

// valuesOfMap is the schema of the values of a map; patterned if it is that of a pattern of keys.
func valuesOfMap(s *node) (rest *node, patterned bool) {
	rest = s.get("additionalProperties")
	if patterns := s.get("patternProperties").properties(); (rest == nil || rest.is(boolean) && rest.text == "false") && len(patterns) == 1 {
		return patterns[0].value, true
	}
	return rest, false
}

// fields makes fields of the properties of a struct, whose Go name is given.
func (tm *typeMaker) fields(s *node, goName string) *yaml.Node {
	fields := mapping()
	called := newFieldNames(s)
	required, of := tm.required(s), tm.shownOf(s)
	for _, p := range s.get("properties").properties() {
		name := tm.fieldName(p.name, p.at, called)
		if name == "" {
			continue
		}
		at := spot{goName: goName, field: name}
		t, present := tm.withNull(p, tm.typeOf(p.value, at), required[p.name], at)
		tm.addField(fields, name, p.name, tm.field(t, name, present), p.at)
		delete(required, p.name)
	}
	for _, r := range s.get("required").elements() {
		if r.is(text) && required[r.text] {
			if name := tm.fieldName(r.text, r.place, called); name != "" {
				tm.addField(fields, name, r.text, textNode("json"), r.place)
			}
			delete(required, r.text)
		}
	}
	for _, m := range of.extra {
		if catalog.CheckJSONName(m.name) != "" || called.json[m.name] {
			tm.report(m.at, rules.ImportExample, "the example has %s, which cannot be the name of a field; it gets lost", quoted(m.name))
		} else {
			tm.addField(fields, tm.fieldName(m.name, m.at, called), m.name, notation("json?"), m.at)
		}
	}
	switch rest := s.get("additionalProperties"); {
	case rest.is(boolean) && rest.text == "false":
		tm.note(s.at("additionalProperties"), "payloads with other properties are not refused: unknown properties are ignored")
	case rest == nil:
		tm.note(s.place, "an object without additionalProperties allows properties beyond those it names; a struct ignores them")
	case rest.is(object), rest.is(boolean):
		tm.report(s.at("additionalProperties"), rules.ImportKeyword, "the object allows properties beyond those it names; a struct ignores them").
			Hint = "put the others into a map of their own, or make the object a map[string]json"
	}
	tm.keepOthers(s, spot{goName: goName, field: "other"})
	tm.leftovers(s, "properties", "required", "additionalProperties")
	return fields
}

func (tm *typeMaker) required(s *node) map[string]bool {
	required := map[string]bool{}
	if s.isTrue("required") {
		tm.report(s.at("required"), rules.ImportKeyword, "required is a list of names since draft 4 of JSON Schema")
	}
	for _, r := range s.get("required").elements() {
		if r.is(text) {
			required[r.text] = true
		}
	}
	return required
}

// field is the value of a field: the text of its type, or a mapping with the type
// and more.
func (tm *typeMaker) field(t typing, name string, required bool) *yaml.Node {
	u := t.use
	kind := t.text
	switch {
	case !required:
		kind += catalog.OptionalMark
	case u.nullable && !t.takesNull():
		kind += catalog.NullMark
	}
	f := mapping()
	tm.say(f, u, saying{name: name, ofType: tm.isType(u.def)})
	if u.sensitive != nil {
		tm.add(f, "sensitive", plain("true"), u.sensitive.place)
	}
	if u.personal != nil {
		tm.add(f, "personal", plain("true"), u.personal.place)
	}
	if f.Content == nil && t.fields == nil && t.more == nil && u.fallback == nil {
		return notation(kind)
	}
	if kind != "{}" {
		tm.add(f, "type", notation(kind), u.schema.place)
	}
	for _, c := range t.more {
		tm.add(f, c.key, c.value, c.at)
	}
	switch {
	case u.fallback == nil || u.fallback.is(null):
	case !t.scalar:
		tm.report(u.fallback.place, rules.ImportDefault, "%s has a default, but only scalars can have one", name)
	default:
		if value := tm.yamlOf(u.fallback); value != nil {
			tm.add(f, "default", value, u.fallback.place)
		}
	}
	if t.fields != nil {
		tm.add(f, "fields", t.fields, u.schema.place)
	}
	return f
}

// A saying tells what a catalogue has words for.
type saying struct {
	name     string // of the field, which its title may repeat
	ofType   bool   // the type says what is said about its definition
	examples bool   // it has examples
}

// say adds doc and deprecated.
func (tm *typeMaker) say(m *yaml.Node, u use, about saying) {
	ofType := func(n *node) bool { return about.ofType && u.saidBy(n) }
	doc, at := "", u.schema.place
	title := ""
	if u.title != nil && !ofType(u.title) && !sameName(u.title.text, about.name) {
		title, at = strings.TrimSpace(u.title.text), u.title.place
	}
	if u.description != nil && !ofType(u.description) {
		doc, at = strings.TrimSpace(u.description.text), u.description.place
	}
	reason := ""
	if u.deprecated != nil && !ofType(u.deprecated) {
		if doc, reason = splitReason(doc); reason == "" {
			reason = "The schema does not say why."
		}
	}
	if title != "" && title != doc {
		doc = strings.TrimSpace(title + "\n\n" + doc)
	}
	tm.addText(m, "doc", doc, at)
	if reason != "" {
		tm.addText(m, "deprecated", reason, u.deprecated.place)
	}
	if len(u.examples) > 0 && !about.examples && !about.ofType && !tm.isAbsorbed(u.schema) {
		tm.note(u.examples[0].place, "only events have examples in a catalogue")
	}
}

// saidBy tells whether the definition itself, and not who refers to it, has said it.
func (u use) saidBy(n *node) bool {
	return slices.ContainsFunc(u.schema.members, func(m member) bool { return m.value == n }) ||
		u.def != nil && slices.ContainsFunc(u.def.members, func(m member) bool { return m.value == n })
}

// splitReason takes the reason out of a description that ends with one.
func splitReason(doc string) (rest, reason string) {
	const marker = "Deprecated: "
	if at := strings.LastIndex(doc, "\n\n"+marker); at >= 0 {
		return doc[:at], strings.TrimSpace(doc[at+2+len(marker):])
	}
	if reason, ok := strings.CutPrefix(doc, marker); ok {
		return "", strings.TrimSpace(reason)
	}
	return doc, ""
}
