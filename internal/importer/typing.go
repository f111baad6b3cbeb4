package importer

import (
	"math/big"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

// A typing is what a field says of its values.
type typing struct {
	text   string     // of the type, without a ?
	fields *yaml.Node // of the struct in place that {} in the text stands for
	more   []entry    // constraints
	scalar bool       // a default can stand in for it
	use    use
}

type entry struct {
	key   string
	value *yaml.Node
	at    diag.Place
}

// hasNil tells types whose Go value can be nil, and is null in JSON then.
func (t typing) hasNil() bool {
	return strings.HasPrefix(t.text, "[]") || strings.HasPrefix(t.text, "map[") || t.text == "bytes" || t.text == "json"
}

// takesNull tells types of which null is a value in a catalogue, without a mark: those that can be nil in Go, unless
// something must be in them.
func (t typing) takesNull() bool {
	return t.hasNil() && !slices.ContainsFunc(t.more, func(c entry) bool { return c.key == "min_items" || c.key == "min_length" })
}

// A spot is where a type is needed: it gives names to types that have none.
type spot struct {
	goName string // of the struct around it
	field  string // in that struct
}

func (at spot) name() string { return at.goName + catalog.GoName(at.field) }

// maxInPlace is how deep structs in place may be inside one another; what is inside
// of them becomes a declared type.
const maxInPlace = 3

// A typeMaker makes the types of a catalogue of schemas.
type typeMaker struct {
	*findingList
	*schemaReader
	*observer
	*draft
	fallback string // what a type is called that nothing gives a name to

	typeNames   names
	drafts      map[*node]*typeDraft // by definition, or by what was written in place
	schemaNames map[string]bool      // what types and events say that schemas are called
	expanding   map[*node]bool       // definitions that are being put where they are used
	refused     map[*node]bool       // enums and unions that have a finding
	kept        map[*node]bool       // schemas of any JSON of which keepTypes has made types
	builtIn     bool                 // scalars have their built-in type here
	inPlace     int                  // structs in place around the current field
	nested      int                  // lists and maps around it
}

func newTypeMaker(examples *observer, catalogue *draft, fallback string) *typeMaker {
	return &typeMaker{
		findingList: examples.findingList, schemaReader: examples.schemaReader, observer: examples, draft: catalogue, fallback: fallback,
		typeNames: names{}, drafts: map[*node]*typeDraft{}, schemaNames: map[string]bool{},
		expanding: map[*node]bool{}, refused: map[*node]bool{}, kept: map[*node]bool{},
	}
}

// typeOf returns the type of the values of a schema.
func (tm *typeMaker) typeOf(s *node, at spot) typing {
	u := tm.look(s)
	if left := tm.visit(); left < 0 {
		if left == -1 {
			tm.report(s.place, rules.ImportReference, "the document refers to its own parts too often; from here on, fields take any JSON")
		}
		return typing{text: "json", use: u}
	}
	for _, e := range u.examples {
		tm.observe(s, e)
	}
	t := tm.shape(u, at)
	t.use = u
	return t
}

func (tm *typeMaker) shape(u use, at spot) typing {
	s := u.schema
	if !s.is(object) {
		if !s.is(boolean) || s.text != "true" {
			tm.report(s.place, rules.ImportType, "no value matches this schema")
		}
		return typing{text: "json"}
	}
	if u.def != nil && tm.drafts[u.def] == nil {
		if tm.expanding[u.def] {
			tm.report(s.place, rules.ImportType, "%s contains itself and is not an object", quoted(u.name))
			return typing{text: "json"}
		}
		tm.expanding[u.def] = true
		defer delete(tm.expanding, u.def)
	}
	switch of := tm.shownOf(s); {
	case of.large, of.other:
		return typing{text: "json"}
	case of.loose:
		s = loosened(s)
		u.schema = s
	}
	if custom, ok := tm.custom(u, at); ok {
		return custom
	}
	if values, key := tm.valuesOf(s); values != nil {
		return typing{text: tm.declare(u, at, func(own use, name string) *yaml.Node { return tm.enum(own, values, key, name) }), scalar: true}
	}
	if variants := tm.variantsOf(s); variants != nil {
		return typing{text: tm.declare(u, at, func(own use, name string) *yaml.Node { return tm.union(own, variants, name) })}
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
		return tm.named(u, at, typing{text: "bool", scalar: true})
	}
	tm.leftovers(s)
	tm.keepTypes(u, at)
	return typing{text: "json"}
}

// implied are the types that keywords are about, for schemas that do not say one.
var implied = []struct {
	kind     string
	keywords []string
}{
	{"object", []string{"properties", "required", "additionalProperties", "patternProperties", "minProperties", "maxProperties", "propertyNames"}},
	{"array", []string{"items", "prefixItems", "minItems", "maxItems", "uniqueItems"}},
	{"string", []string{"minLength", "maxLength", "pattern", "format", "contentEncoding"}},
	{"number", []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}},
}

// kindsOf are the JSON types of the values of a schema; none if it does not say.
func kindsOf(s *node) []string {
	var kinds []string
	add := func(n *node) {
		if n.is(text) && n.text != "null" {
			kinds = append(kinds, n.text)
		}
	}
	types := s.get("type")
	add(types)
	if types.is(list) {
		for _, t := range types.items {
			add(t)
		}
	}
	slices.Sort(kinds)
	kinds = slices.Compact(kinds)
	if slices.Equal(kinds, []string{"integer", "number"}) {
		return kinds[1:]
	}
	if (len(kinds) == 1 && kinds[0] == "number" || kinds == nil) && len(valuesIn(s)) > 0 && !slices.ContainsFunc(valuesIn(s), func(v *node) bool { return !v.isWhole() }) {
		return []string{"integer"} // a float64 has no room for all of their digits
	}
	if kinds == nil {
		for _, i := range implied {
			if slices.ContainsFunc(i.keywords, func(k string) bool { return s.get(k) != nil }) {
				return []string{i.kind}
			}
		}
	}
	if kinds == nil {
		return kindsOfValues(valuesIn(s))
	}
	return kinds
}

// kindsOfValues is the type of texts or numbers; none for others.
func kindsOfValues(values []*node) []string {
	texts, numbers, truths := 0, 0, 0
	for _, v := range values {
		if v.unsure {
			return nil
		}
		switch v.kind {
		case text, null:
			texts++
		case number:
			numbers++
		case boolean:
			truths++
		}
	}
	switch {
	case truths > 0 && truths == len(values):
		return []string{"boolean"}
	case texts > 0 && texts == len(values):
		return []string{"string"}
	case numbers > 0 && numbers == len(values):
		return []string{"number"}
	}
	return nil
}

// kindOf is the JSON type of the values of a schema; empty if there are several.
func (tm *typeMaker) kindOf(s *node) string {
	kinds := kindsOf(s)
	switch {
	case len(kinds) > 1:
		tm.report(s.at("type"), rules.ImportType, "values are of several types, %s; the field takes any JSON", strings.Join(kinds, " and ")).
			Hint = "write a union of structs, or a type for each"
		return ""
	case len(kinds) == 1:
		if !slices.Contains([]string{"object", "array", "string", "integer", "number", "boolean"}, kinds[0]) {
			tm.report(s.at("type"), rules.ImportType, "%s is not a type of JSON Schema; the field takes any JSON", quoted(kinds[0]))
			return ""
		}
		tm.implied(s, kinds[0])
		return kinds[0]
	}
	return ""
}

// implied says that a schema that does not name a type becomes one, although values of others match it, too. Who lists
// properties, or values, leaves no doubt.
func (tm *typeMaker) implied(s *node, kind string) {
	if s.get("type") != nil || s.get("properties") != nil || valuesIn(s) != nil {
		return
	}
	for _, i := range implied {
		for _, keyword := range i.keywords {
			if i.kind == kind && s.get(keyword) != nil {
				tm.report(s.at(keyword), rules.ImportType, "a schema with %s and without a type also allows values of other types; the field takes %s", keyword, impliedNouns[kind])
				return
			}
		}
	}
}

var impliedNouns = map[string]string{"object": "objects only", "array": "lists only", "string": "strings only", "number": "numbers only"}

// listType is a list of what items are.
func (tm *typeMaker) listType(s *node, at spot) typing {
	t := typing{text: "[]json"}
	items := itemsOf(s)
	switch {
	case items == nil && (s.get("prefixItems") != nil || s.get("items").is(list)):
		tm.report(s.at("prefixItems"), rules.ImportType, "each item of the list has a schema of its own; the list takes any JSON").Hint = "write a struct with a field for each item"
		tm.keepTypes(use{schema: s}, at)
	case items != nil:
		t = tm.element("[]", items, at)
	default:
		tm.keepType(s.get("contains"), at)
	}
	t.more = append(t.more, tm.count(s, "minItems", "min_items", limitItems)...)
	t.more = append(t.more, tm.count(s, "maxItems", "max_items", limitItems)...)
	if s.isTrue("uniqueItems") {
		if !t.scalar || t.text == "[]bytes" || t.text == "[]time" {
			tm.report(s.at("uniqueItems"), rules.ImportConstraint, "uniqueItems has a counterpart only for lists of scalars")
		} else {
			t.more = append(t.more, entry{"unique", plain("true"), s.at("uniqueItems")})
		}
	}
	tm.leftovers(s, "items", "prefixItems", "minItems", "maxItems", "uniqueItems")
	t.scalar = false
	return t
}

// itemsOf is the schema of all items of a list; nil if they have none, or one each. Items that have one each are of the
// same if these are equal, and there are no others.
func itemsOf(s *node) *node {
	items, others, most := s.get("prefixItems"), s.get("items"), s.get("maxItems")
	if s.get("items").is(list) {
		items, others = s.get("items"), s.get("additionalItems")
	}
	if !items.is(list) {
		return s.get("items")
	}
	n, counted := most.rational()
	closed := others.is(boolean) && others.text == "false" || counted && n.Cmp(big.NewRat(int64(len(items.items)), 1)) <= 0
	if !closed || len(items.items) == 0 || slices.ContainsFunc(items.items, func(one *node) bool { return !same(one, items.items[0]) }) {
		return nil
	}
	return items.items[0]
}

// element is a list or map of what a schema describes.
func (tm *typeMaker) element(prefix string, s *node, at spot) typing {
	tm.nested++
	defer func() { tm.nested-- }()
	if tm.nested > maxNesting {
		tm.report(s.place, rules.ImportType, "lists and maps are nested more than %d deep; the field takes any JSON", maxNesting)
		return typing{text: "json"}
	}
	inner := tm.typeOf(s, at)
	more := tm.each(prefix, inner.more)
	if inner.use.nullable && !inner.hasNil() {
		tm.report(inner.use.schema.place, rules.ImportNull, "the items of a list or map cannot be null in a catalogue; they take any JSON")
		tm.keepType(s, at)
		return typing{text: prefix + "json"}
	}
	if inner.use.def == nil {
		tm.unsaid(inner.use, "an item of a list or map")
	}
	// scalar tells whether the items are.
	return typing{text: prefix + inner.text, fields: inner.fields, more: more, scalar: inner.scalar && !strings.Contains(inner.text, "[") || inner.text == "time" || inner.text == "bytes"}
}

// each puts the constraints of what is in a list or map under the key for them.
func (tm *typeMaker) each(prefix string, more []entry) []entry {
	if len(more) == 0 {
		return nil
	}
	each, key := flow(mapping()), "items"
	if prefix != "[]" {
		key = "values"
	}
	for _, c := range more {
		tm.add(each, c.key, c.value, c.at)
	}
	return []entry{{key, each, more[0].at}}
}

// maxNesting is how deep a type can be.
const maxNesting = 15

// unsaid reports what is said of something that a catalogue has no words for.
func (tm *typeMaker) unsaid(u use, what string) {
	for key, n := range map[string]*node{"title": u.title, "description": u.description} {
		if n != nil {
			tm.note(n.place, "a catalogue has no place for the %s of %s", key, what)
		}
	}
}

// isType tells whether a type was made of a definition.
func (tm *typeMaker) isType(def *node) bool { return tm.drafts[def] != nil }

// declare returns the name of the type that is made of a schema, and makes it if
// nobody has asked for it before.
func (tm *typeMaker) declare(u use, at spot, build func(own use, name string) *yaml.Node) string {
	key, own := u.schema, u
	if u.def != nil {
		key, own = u.def, tm.look(u.def) // without what is said only where it is used
		own.def, own.name = u.def, u.name
	}
	if draft := tm.drafts[key]; draft != nil {
		return draft.name
	}
	draft := tm.newType(tm.typeNames.unique(tm.nameFor(u, at)), key.place)
	named := u.def != nil && u.name != draft.name && tm.takesSchemaName(u.name)
	if u.def != nil && u.name != draft.name && !named {
		tm.rename(aType, u.name, draft.name, key.place)
	}
	tm.drafts[key] = draft
	inPlace, nested := tm.inPlace, tm.nested
	tm.inPlace, tm.nested = 0, 0
	draft.body = build(own, draft.name)
	if named {
		draft.body = tm.withSchemaName(draft.body, u.name, key.place)
	}
	tm.inPlace, tm.nested = inPlace, nested
	return draft.name
}

// takesSchemaName tells whether a type or event can say that the schema has this name in the document. No other may: an
// export could not give it to both.
func (tm *typeMaker) takesSchemaName(name string) bool {
	if !catalog.SchemaName.MatchString(name) || tm.schemaNames[name] {
		return false
	}
	tm.schemaNames[name] = true
	return true
}

// withSchemaName is the body of a type that says what the schema is called in the document.
func (tm *typeMaker) withSchemaName(body *yaml.Node, name string, at diag.Place) *yaml.Node {
	if body.Kind == yaml.ScalarNode { // the built-in type of a named scalar
		of := body
		body = mapping()
		tm.add(body, "type", of, at)
	}
	tm.add(body, "schema", textNode(name), at)
	return body
}

// nameFor is the name that a type should have.
func (tm *typeMaker) nameFor(u use, at spot) string {
	switch {
	case u.def != nil && u.name != "":
		return typeName(u.name)
	case u.def == nil && u.title != nil && catalog.TypeName.MatchString(u.title.text) && len(u.title.text) <= maxMade:
		return u.title.text
	case at.name() == "":
		return typeName(tm.fallback)
	}
	return typeName(at.name())
}

// custom is a Go type that the schema names in the way of oapi-codegen.
func (tm *typeMaker) custom(u use, at spot) (typing, bool) {
	goType, from := u.schema.str("x-go-type"), u.schema.get("x-go-type-import")
	path := from.str("path")
	if from.is(text) {
		path = from.text
	}
	if goType == "" || path == "" {
		return typing{}, false
	}
	wire := use{schema: u.schema.without("x-go-type", "x-go-type-import")}
	name := tm.declare(u, at, func(own use, _ string) *yaml.Node {
		body := mapping()
		own.title = nil // the same once more
		tm.say(body, own, saying{})
		inner := flow(mapping())
		tm.add(inner, "import", textNode(path), u.schema.at("x-go-type-import"))
		tm.add(inner, "type", textNode(goType[strings.LastIndexByte(goType, '.')+1:]), u.schema.at("x-go-type"))
		tm.add(body, "go", inner, u.schema.at("x-go-type"))
		t := tm.unnamed(func() typing { return tm.shape(wire, at) })
		if t.fields != nil || strings.ContainsFunc(t.text[strings.LastIndexByte(t.text, ']')+1:], func(r rune) bool { return r >= 'A' && r <= 'Z' }) {
			t.text = "json"
		}
		tm.add(body, "type", notation(t.text), u.schema.place)
		return body
	})
	return typing{text: name}, true
}
