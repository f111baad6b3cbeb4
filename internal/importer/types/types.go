// Package types makes the types of a catalogue of schemas. A [Maker] owns the names and definitions of types.
package types

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/importer/draft"
	"github.com/busgen/busgen/internal/importer/evidence"
	"github.com/busgen/busgen/internal/importer/findings"
	"github.com/busgen/busgen/internal/importer/names"
	"github.com/busgen/busgen/internal/importer/schema"
	"github.com/busgen/busgen/internal/importer/tree"
)

// A Maker makes the types of a catalogue of schemas.
type Maker struct {
	*findings.List
	schemas   *schema.Reader
	observer  *evidence.Observer
	catalogue *draft.Catalogue
	fallback  string // what a type is called that nothing gives a name to

	typeNames   names.Taken
	drafts      map[*tree.Node]*draft.Type // by definition, or by what was written in place
	schemaNames map[string]bool            // what types and events say that schemas are called
	expanding   map[*tree.Node]bool        // definitions that are being put where they are used
	refused     map[*tree.Node]bool        // enums and unions that have a finding
	kept        map[*tree.Node]bool        // schemas of any JSON of which keepTypes has made types
	builtIn     bool                       // scalars have their built-in type here
	inPlace     int                        // structs in place around the current field
	nested      int                        // lists and maps around it
}

// New returns a maker that adds types to a catalogue.
func New(examples *evidence.Observer, catalogue *draft.Catalogue, fallback string) *Maker {
	return &Maker{
		List: examples.List, schemas: examples.Schemas, observer: examples, catalogue: catalogue, fallback: fallback,
		typeNames: names.Taken{}, drafts: map[*tree.Node]*draft.Type{}, schemaNames: map[string]bool{},
		expanding: map[*tree.Node]bool{}, refused: map[*tree.Node]bool{}, kept: map[*tree.Node]bool{},
	}
}

// Reserve keeps types from taking the Go names of an event.
func (tm *Maker) Reserve(event string) {
	goName := catalog.GoName(names.Event(event))
	tm.typeNames[goName], tm.typeNames[goName+"Type"] = true, true
}

// A Typing is what a field says of its values.
type Typing struct {
	Text   string     // of the type, without a ?
	Fields *yaml.Node // of the struct in place that {} in the text stands for
	more   []entry    // constraints
	scalar bool       // a default can stand in for it
	Use    schema.Use
}

type entry struct {
	key   string
	value *yaml.Node
	at    diag.Place
}

// HasNil tells types whose Go value can be nil, and is null in JSON then.
func (t Typing) HasNil() bool {
	return strings.HasPrefix(t.Text, "[]") || strings.HasPrefix(t.Text, "map[") || t.Text == "bytes" || t.Text == "json"
}

// takesNull tells types of which null is a value in a catalogue, without a mark: those that can be nil in Go, unless
// something must be in them.
func (t Typing) takesNull() bool {
	return t.HasNil() && !slices.ContainsFunc(t.more, func(c entry) bool {
		return c.key == "min_items" || c.key == "min_length"
	})
}

// A Spot is where a type is needed: it gives names to types that have none.
type Spot struct {
	GoName string // of the struct around it
	Field  string // in that struct
}

func (at Spot) name() string { return at.GoName + catalog.GoName(at.Field) }

// maxInPlace is how deep structs in place may be inside one another; structs inside of
// them become declared types.
const maxInPlace = 3

// TypeOf returns the type of the values of a schema.
func (tm *Maker) TypeOf(s *tree.Node, at Spot) Typing {
	u := tm.schemas.Look(s)
	if left := tm.schemas.Visit(); left < 0 {
		if left == -1 {
			tm.Report(s.Place, rules.ImportReference,
				"the document refers to its own parts too often; from here on, fields take any JSON")
		}
		return Typing{Text: "json", Use: u}
	}
	for _, e := range u.Examples {
		tm.observer.Observe(s, e)
	}
	t := tm.Shape(u, at)
	t.Use = u
	return t
}

func (tm *Maker) Shape(u schema.Use, at Spot) Typing {
	s := u.Schema
	if !s.Is(tree.Object) {
		if !s.Is(tree.Boolean) || s.Text != "true" {
			tm.Report(s.Place, rules.ImportType, "no value matches this schema")
		}
		return Typing{Text: "json"}
	}
	if u.Def != nil && tm.drafts[u.Def] == nil {
		if tm.expanding[u.Def] {
			tm.Report(s.Place, rules.ImportType, "%s contains itself and is not an object", findings.Quote(u.Name))
			return Typing{Text: "json"}
		}
		tm.expanding[u.Def] = true
		defer delete(tm.expanding, u.Def)
	}
	switch of := tm.observer.ShownOf(s); {
	case of.Large, of.Other:
		return Typing{Text: "json"}
	case of.Loose:
		s = loosened(s)
		u.Schema = s
	}
	if custom, ok := tm.custom(u, at); ok {
		return custom
	}
	if values, key := tm.valuesOf(s); values != nil {
		return Typing{Text: tm.declare(u, at, func(own schema.Use, name string) *yaml.Node {
			return tm.enum(own, values, key, name)
		}), scalar: true}
	}
	if variants := tm.variantsOf(s); variants != nil {
		return Typing{Text: tm.declare(u, at, func(own schema.Use, name string) *yaml.Node {
			return tm.union(own, variants, name)
		})}
	}
	switch kindOf := tm.kindOf(s); kindOf {
	case "object":
		return tm.objectType(u, at)
	case "array":
		return tm.listType(s, at)
	case "string":
		return tm.named(u, at, tm.textType(s))
	case "integer", "number":
		return tm.named(u, at, tm.numberType(s, kindOf))
	case "boolean":
		tm.leftovers(s)
		return tm.named(u, at, Typing{Text: "bool", scalar: true})
	}
	tm.leftovers(s)
	tm.keepTypes(u, at)
	return Typing{Text: "json"}
}

// kindOf is the JSON type of the values of a schema; empty if there are several.
func (tm *Maker) kindOf(s *tree.Node) string {
	kinds := schema.KindsOf(s)
	switch {
	case len(kinds) > 1:
		tm.Report(s.At("type"), rules.ImportType, "values are of several types, %s; the field takes any JSON",
			strings.Join(kinds, " and ")).
			Hint = "write a union of structs, or a type for each"
		return ""
	case len(kinds) == 1:
		if !slices.Contains([]string{"object", "array", "string", "integer", "number", "boolean"}, kinds[0]) {
			tm.Report(s.At("type"), rules.ImportType, "%s is not a type of JSON Schema; the field takes any JSON",
				findings.Quote(kinds[0]))
			return ""
		}
		tm.implied(s, kinds[0])
		return kinds[0]
	}
	return ""
}

// implied says that a schema that does not name a type becomes one, although values of others match it, too. A schema
// that lists properties, or values, leaves no doubt.
func (tm *Maker) implied(s *tree.Node, kind string) {
	if s.Get("type") != nil || s.Get("properties") != nil || schema.ValuesIn(s) != nil {
		return
	}
	for _, i := range schema.Implied {
		for _, keyword := range i.Keywords {
			if i.Kind == kind && s.Get(keyword) != nil {
				tm.Report(s.At(keyword), rules.ImportType,
					"a schema with %s and without a type also allows values of other types; the field takes %s", keyword,
					impliedNouns[kind])
				return
			}
		}
	}
}

var impliedNouns = map[string]string{"object": "objects only", "array": "lists only", "string": "strings only",
	"number": "numbers only"}

// listType is a list of what items are.
func (tm *Maker) listType(s *tree.Node, at Spot) Typing {
	t := Typing{Text: "[]json"}
	items := schema.ItemsOf(s)
	switch {
	case items == nil && (s.Get("prefixItems") != nil || s.Get("items").Is(tree.List)):
		tm.Report(s.At("prefixItems"), rules.ImportType,
			"each item of the list has a schema of its own; the list takes any JSON").
			Hint = "write a struct with a field for each item"
		tm.keepTypes(schema.Use{Schema: s}, at)
	case items != nil:
		t = tm.element("[]", items, at)
	default:
		tm.keepType(s.Get("contains"), at)
	}
	t.more = append(t.more, tm.count(s, "minItems", "min_items", limitItems)...)
	t.more = append(t.more, tm.count(s, "maxItems", "max_items", limitItems)...)
	if s.Get("uniqueItems").IsTrue() {
		if !t.scalar || t.Text == "[]bytes" || t.Text == "[]time" {
			tm.Report(s.At("uniqueItems"), rules.ImportConstraint, "uniqueItems has a counterpart only for lists of scalars")
		} else {
			t.more = append(t.more, entry{"unique", draft.Plain("true"), s.At("uniqueItems")})
		}
	}
	tm.leftovers(s, "items", "prefixItems", "minItems", "maxItems", "uniqueItems")
	t.scalar = false
	return t
}

// element is a list or map of what a schema describes.
func (tm *Maker) element(prefix string, s *tree.Node, at Spot) Typing {
	tm.nested++
	defer func() { tm.nested-- }()
	if tm.nested > maxNesting {
		tm.Report(s.Place, rules.ImportType, "lists and maps are nested more than %d deep; the field takes any JSON",
			maxNesting)
		return Typing{Text: "json"}
	}
	inner := tm.TypeOf(s, at)
	more := tm.each(prefix, inner.more)
	if inner.Use.Nullable && !inner.HasNil() {
		tm.Report(inner.Use.Schema.Place, rules.ImportNull,
			"the items of a list or map cannot be null in a catalogue; they take any JSON")
		tm.keepType(s, at)
		return Typing{Text: prefix + "json"}
	}
	if inner.Use.Def == nil {
		tm.unsaid(inner.Use, "an item of a list or map")
	}
	// scalar tells whether the items are.
	return Typing{Text: prefix + inner.Text, Fields: inner.Fields, more: more,
		scalar: inner.scalar && !strings.Contains(inner.Text, "[") || inner.Text == "time" || inner.Text == "bytes"}
}

// each puts the constraints of what is in a list or map under the key for them.
func (tm *Maker) each(prefix string, more []entry) []entry {
	if len(more) == 0 {
		return nil
	}
	each, key := draft.Flow(draft.Mapping()), "items"
	if prefix != "[]" {
		key = "values"
	}
	for _, c := range more {
		tm.catalogue.Add(each, c.key, c.value, c.at)
	}
	return []entry{{key, each, more[0].at}}
}

// maxNesting is how deep a type can be.
const maxNesting = 15

// unsaid reports what is said of something that a catalogue has no words for.
func (tm *Maker) unsaid(u schema.Use, what string) {
	for key, n := range map[string]*tree.Node{"title": u.Title, "description": u.Description} {
		if n != nil {
			tm.Note(n.Place, "a catalogue has no place for the %s of %s", key, what)
		}
	}
}

// IsType tells whether a type was made of a definition.
func (tm *Maker) IsType(def *tree.Node) bool { return tm.drafts[def] != nil }

// declare returns the name of the type that is made of a schema, and makes it the first time.
func (tm *Maker) declare(u schema.Use, at Spot, build func(own schema.Use, name string) *yaml.Node) string {
	key, own := u.Schema, u
	if u.Def != nil {
		key, own = u.Def, tm.schemas.Look(u.Def) // without what is said only where it is used
		own.Def, own.Name = u.Def, u.Name
	}
	if draft := tm.drafts[key]; draft != nil {
		return draft.Name
	}
	draft := tm.catalogue.NewType(tm.typeNames.Unique(tm.nameFor(u, at)), key.Place)
	named := u.Def != nil && u.Name != draft.Name && tm.TakesSchemaName(u.Name)
	if u.Def != nil && u.Name != draft.Name && !named {
		tm.Rename(findings.Type, u.Name, draft.Name, key.Place)
	}
	tm.drafts[key] = draft
	inPlace, nested := tm.inPlace, tm.nested
	tm.inPlace, tm.nested = 0, 0
	draft.Body = build(own, draft.Name)
	if named {
		draft.Body = tm.withSchemaName(draft.Body, u.Name, key.Place)
	}
	tm.inPlace, tm.nested = inPlace, nested
	return draft.Name
}

// TakesSchemaName tells whether a type or event can say that the schema has this name in the document. No other may: an
// export could not give it to both.
func (tm *Maker) TakesSchemaName(name string) bool {
	if !catalog.SchemaName.MatchString(name) || tm.schemaNames[name] {
		return false
	}
	tm.schemaNames[name] = true
	return true
}

// withSchemaName is the body of a type that says what the schema is called in the document.
func (tm *Maker) withSchemaName(body *yaml.Node, name string, at diag.Place) *yaml.Node {
	if body.Kind == yaml.ScalarNode { // the built-in type of a named scalar
		of := body
		body = draft.Mapping()
		tm.catalogue.Add(body, "type", of, at)
	}
	tm.catalogue.Add(body, "schema", draft.Text(name), at)
	return body
}

// nameFor is the name that a type should have.
func (tm *Maker) nameFor(u schema.Use, at Spot) string {
	switch {
	case u.Def != nil && u.Name != "":
		return names.Type(u.Name)
	case u.Def == nil && u.Title != nil && catalog.TypeName.MatchString(u.Title.Text) &&
		len(u.Title.Text) <= names.MaxMade:
		return u.Title.Text
	case at.name() == "":
		return names.Type(tm.fallback)
	}
	return names.Type(at.name())
}

// custom is a Go type that the schema names in the way of oapi-codegen.
func (tm *Maker) custom(u schema.Use, at Spot) (Typing, bool) {
	goType, from := u.Schema.Str("x-go-type"), u.Schema.Get("x-go-type-import")
	path := from.Str("path")
	if from.Is(tree.Text) {
		path = from.Text
	}
	if goType == "" || path == "" {
		return Typing{}, false
	}
	wire := schema.Use{Schema: u.Schema.Without("x-go-type", "x-go-type-import")}
	name := tm.declare(u, at, func(own schema.Use, _ string) *yaml.Node {
		body := draft.Mapping()
		own.Title = nil // the same once more
		tm.Say(body, own, Saying{})
		inner := draft.Flow(draft.Mapping())
		tm.catalogue.Add(inner, "import", draft.Text(path), u.Schema.At("x-go-type-import"))
		tm.catalogue.Add(inner, "type", draft.Text(goType[strings.LastIndexByte(goType, '.')+1:]), u.Schema.At("x-go-type"))
		tm.catalogue.Add(body, "go", inner, u.Schema.At("x-go-type"))
		t := tm.unnamed(func() Typing { return tm.Shape(wire, at) })
		if t.Fields != nil || strings.ContainsFunc(t.Text[strings.LastIndexByte(t.Text, ']')+1:], func(r rune) bool {
			return r >= 'A' && r <= 'Z'
		}) {
			t.Text = "json"
		}
		tm.catalogue.Add(body, "type", draft.Notation(t.Text), u.Schema.Place)
		return body
	})
	return Typing{Text: name}, true
}

// ignored are keywords that change nothing, besides those that only say something.
var ignored = []string{"readOnly", "writeOnly", "externalDocs", "xml", "contentMediaType", "contentSchema",
	"additionalItems", "minContains", "maxContains", "$dynamicAnchor", "$recursiveAnchor"}

// leftovers reports the keywords of a schema that are not known, of which the first says
// what it is about: nothing is dropped without a word.
func (tm *Maker) leftovers(s *tree.Node, known ...string) {
	for _, m := range s.Members {
		if slices.Contains(known, m.Name) || slices.Contains(schema.SayingKeywords, m.Name) || tm.refused[m.Value] {
			continue
		}
		about := schema.AboutKind(m.Name)
		if len(known) > 0 && about == schema.AboutKind(known[0]) {
			about = ""
		}
		switch {
		case m.Name == "type", m.Name == "enum", m.Name == "x-busgen":
		case slices.Contains(ignored, m.Name):
			tm.Note(m.At, "a catalogue has no place for %s", m.Name)
		case strings.HasPrefix(m.Name, "x-"):
			tm.Note(m.At, "a catalogue has no place for the extension %s", findings.Quote(m.Name))
		case !schema.IsAssertion(m.Name):
			tm.Note(m.At, "a catalogue has no place for %s, which is no keyword of JSON Schema", findings.Quote(m.Name))
		case about != "":
			tm.Note(m.At, "%s applies to values of another type and has no effect here", m.Name)
		default:
			tm.Report(m.At, rules.ImportKeyword, "%s has no counterpart in a catalogue", findings.Quote(m.Name)).
				Hint = schema.KeywordHints[m.Name]
		}
	}
}
