package types

import (
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/importer/draft"
	"github.com/busgen/busgen/internal/importer/findings"
	"github.com/busgen/busgen/internal/importer/names"
	"github.com/busgen/busgen/internal/importer/schema"
	"github.com/busgen/busgen/internal/importer/tree"
)

// withNull makes a field of which examples have null although it is optional one that keeps null, which would be absent
// otherwise: any JSON, or one that is nullable and always there, if all of them have it.
func (tm *Maker) withNull(p tree.Member, t Typing, required bool, at Spot) (Typing, bool) {
	of := tm.observer.ShownOf(p.Value)
	switch {
	case of.None == nil, required, !t.Use.Nullable, t.Text == "json":
		return t, required
	case of.Absent:
		tm.keepType(p.Value, at)
		tm.Report(of.None.Place, rules.ImportExample,
			"the example has null for %s, which others do not have at all; it takes any JSON", findings.Quote(p.Name)).
			Hint = "give the field the type of its other values if null means the same as nothing"
		return Typing{Text: "json", Use: t.Use}, false
	}
	tm.Report(of.None.Place, rules.ImportExample,
		"the example has null for %s, which is optional; it is nullable instead, and always in the JSON",
		findings.Quote(p.Name))
	return t, true
}

// objectType is a struct, or a map if the properties are not known.
func (tm *Maker) objectType(u schema.Use, at Spot) Typing {
	s := u.Schema
	if !schema.IsStruct(u) || schema.OnlySays(s, "type") || s.Get("propertyNames") != nil && s.Get("properties") == nil {
		return tm.mapType(s, at)
	}
	if named := nameable(s); named != s {
		for _, p := range s.Get("properties").Properties() {
			if reason := catalog.CheckJSONName(p.Name); reason != "" {
				tm.Report(p.At, rules.ImportName, "the property %s cannot be a field, so the object takes any JSON: %s",
					findings.Quote(p.Name), reason)
			}
		}
		if len(named.Get("properties").Properties()) > 0 {
			tm.declareStruct(u, at) // for the other properties
		}
		return Typing{Text: "json"}
	}
	if u.Def != nil || tm.inPlace >= maxInPlace || at.Field == "" {
		return Typing{Text: tm.declareStruct(u, at)}
	}
	tm.inPlace++
	defer func() { tm.inPlace-- }()
	return Typing{Text: "{}", Fields: tm.Fields(s, at.name())}
}

func (tm *Maker) declareStruct(u schema.Use, at Spot) string {
	return tm.declare(u, at, func(own schema.Use, name string) *yaml.Node {
		body := draft.Mapping()
		tm.Say(body, own, Saying{Name: name})
		tm.catalogue.Add(body, "fields", tm.Fields(nameable(own.Schema), name), own.Schema.At("properties"))
		return body
	})
}

// nameable is an object without the properties whose names no field can have.
func nameable(s *tree.Node) *tree.Node {
	properties, required := s.Get("properties"), s.Get("required")
	for _, p := range s.Get("properties").Properties() {
		if catalog.CheckJSONName(p.Name) != "" {
			properties = properties.Without(p.Name)
			if required.Is(tree.List) {
				required = required.WithoutText(p.Name)
			}
		}
	}
	if properties == s.Get("properties") {
		return s
	}
	own := s.Without("properties", "required")
	own.Add("properties", s.At("properties"), properties)
	if required.Is(tree.List) {
		own.Add("required", s.At("required"), required)
	}
	return own
}

// mapType is a map to what additionalProperties are.
func (tm *Maker) mapType(s *tree.Node, at Spot) Typing {
	t := Typing{Text: "map[string]json"}
	rest, patterned := schema.ValuesOfMap(s)
	if patterned {
		tm.Report(s.At("patternProperties"), rules.ImportConstraint, "the keys of a map have no constraints in a catalogue")
		s = s.Without("patternProperties")
	}
	if rest.Is(tree.Object) {
		t = tm.element("map[string]", rest, at)
	} else {
		tm.keepTypes(schema.Use{Schema: s}, at)
	}
	t.scalar = false
	t.more = append(t.more, tm.count(s, "minProperties", "min_items", limitItems)...)
	t.more = append(t.more, tm.count(s, "maxProperties", "max_items", limitItems)...)
	tm.leftovers(s, "additionalProperties", "minProperties", "maxProperties", "properties", "required")
	return t
}

// Fields makes fields of the properties of a struct, whose Go name is given.
func (tm *Maker) Fields(s *tree.Node, goName string) *yaml.Node {
	fields := draft.Mapping()
	called := newFieldNames(s)
	required, of := tm.required(s), tm.observer.ShownOf(s)
	for _, p := range s.Get("properties").Properties() {
		name := tm.fieldName(p.Name, p.At, called)
		if name == "" {
			continue
		}
		at := Spot{GoName: goName, Field: name}
		t, present := tm.withNull(p, tm.TypeOf(p.Value, at), required[p.Name], at)
		tm.catalogue.AddField(fields, name, p.Name, tm.field(t, name, present), p.At)
		delete(required, p.Name)
	}
	for _, r := range s.Get("required").Elements() {
		if r.Is(tree.Text) && required[r.Text] {
			if name := tm.fieldName(r.Text, r.Place, called); name != "" {
				tm.catalogue.AddField(fields, name, r.Text, draft.Text("json"), r.Place)
			}
			delete(required, r.Text)
		}
	}
	for _, m := range of.Extra {
		if catalog.CheckJSONName(m.Name) != "" || called.json[m.Name] {
			tm.Report(m.At, rules.ImportExample, "the example has %s, which cannot be the name of a field; it gets lost",
				findings.Quote(m.Name))
		} else {
			tm.catalogue.AddField(fields, tm.fieldName(m.Name, m.At, called), m.Name, draft.Notation("json?"), m.At)
		}
	}
	switch rest := s.Get("additionalProperties"); {
	case rest.IsFalse():
		tm.Note(s.At("additionalProperties"),
			"payloads with other properties are not refused: unknown properties are ignored")
	case rest == nil:
		tm.Note(s.Place, "an object without additionalProperties allows properties beyond those it names; a struct "+
			"ignores them")
	case rest.Is(tree.Object), rest.Is(tree.Boolean):
		tm.Report(s.At("additionalProperties"), rules.ImportKeyword,
			"the object allows properties beyond those it names; a struct ignores them").
			Hint = "put the others into a map of their own, or make the object a map[string]json"
	}
	tm.keepOthers(s, Spot{GoName: goName, Field: "other"})
	tm.leftovers(s, "properties", "required", "additionalProperties")
	return fields
}

func (tm *Maker) required(s *tree.Node) map[string]bool {
	required := map[string]bool{}
	if s.Get("required").IsTrue() {
		tm.Report(s.At("required"), rules.ImportKeyword, "required is a list of names since draft 4 of JSON Schema")
	}
	for _, r := range s.Get("required").Elements() {
		if r.Is(tree.Text) {
			required[r.Text] = true
		}
	}
	return required
}

// field is the value of a field: the text of its type, or a mapping with the type
// and more.
func (tm *Maker) field(t Typing, name string, required bool) *yaml.Node {
	u := t.Use
	kind := t.Text
	switch {
	case !required:
		kind += catalog.OptionalMark
	case u.Nullable && !t.takesNull():
		kind += catalog.NullMark
	}
	f := draft.Mapping()
	tm.Say(f, u, Saying{Name: name, OfType: tm.IsType(u.Def)})
	if u.Sensitive != nil {
		tm.catalogue.Add(f, "sensitive", draft.Plain("true"), u.Sensitive.Place)
	}
	if u.Personal != nil {
		tm.catalogue.Add(f, "personal", draft.Plain("true"), u.Personal.Place)
	}
	if f.Content == nil && t.Fields == nil && t.more == nil && u.Fallback == nil {
		return draft.Notation(kind)
	}
	if kind != "{}" {
		tm.catalogue.Add(f, "type", draft.Notation(kind), u.Schema.Place)
	}
	for _, c := range t.more {
		tm.catalogue.Add(f, c.key, c.value, c.at)
	}
	switch {
	case u.Fallback == nil || u.Fallback.Is(tree.Null):
	case !t.scalar:
		tm.Report(u.Fallback.Place, rules.ImportDefault, "%s has a default, but only scalars can have one", name)
	default:
		if value := tm.catalogue.Value(u.Fallback); value != nil {
			tm.catalogue.Add(f, "default", value, u.Fallback.Place)
		}
	}
	if t.Fields != nil {
		tm.catalogue.Add(f, "fields", t.Fields, u.Schema.Place)
	}
	return f
}

// A Saying tells what a catalogue has words for.
type Saying struct {
	Name     string // of the field, which its title may repeat
	OfType   bool   // the type says what is said about its definition
	Examples bool   // it has examples
}

// Say adds doc and deprecated.
func (tm *Maker) Say(m *yaml.Node, u schema.Use, about Saying) {
	ofType := func(n *tree.Node) bool { return about.OfType && u.SaidBy(n) }
	doc, at := "", u.Schema.Place
	title := ""
	if u.Title != nil && !ofType(u.Title) && !names.Same(u.Title.Text, about.Name) {
		title, at = strings.TrimSpace(u.Title.Text), u.Title.Place
	}
	if u.Description != nil && !ofType(u.Description) {
		doc, at = strings.TrimSpace(u.Description.Text), u.Description.Place
	}
	reason := ""
	if u.Deprecated != nil && !ofType(u.Deprecated) {
		if doc, reason = SplitReason(doc); reason == "" {
			reason = "The schema does not say why."
		}
	}
	if title != "" && title != doc {
		doc = strings.TrimSpace(title + "\n\n" + doc)
	}
	tm.catalogue.AddText(m, "doc", doc, at)
	if reason != "" {
		tm.catalogue.AddText(m, "deprecated", reason, u.Deprecated.Place)
	}
	if len(u.Examples) > 0 && !about.Examples && !about.OfType && !tm.schemas.IsAbsorbed(u.Schema) {
		tm.Note(u.Examples[0].Place, "only events have examples in a catalogue")
	}
}

// SplitReason takes the reason out of a description that ends with one.
func SplitReason(doc string) (rest, reason string) {
	const marker = "Deprecated: "
	if at := strings.LastIndex(doc, "\n\n"+marker); at >= 0 {
		return doc[:at], strings.TrimSpace(doc[at+2+len(marker):])
	}
	if reason, ok := strings.CutPrefix(doc, marker); ok {
		return "", strings.TrimSpace(reason)
	}
	return doc, ""
}
