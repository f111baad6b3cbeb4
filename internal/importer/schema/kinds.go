package schema

import (
	"math"
	"math/big"
	"slices"
	"strings"

	"github.com/busgen/busgen/internal/export"
	"github.com/busgen/busgen/internal/importer/tree"
)

// ValuesIn are the values of enum or const.
func ValuesIn(s *tree.Node) []*tree.Node {
	if one := s.Get("const"); one != nil {
		return []*tree.Node{one}
	}
	return s.Get("enum").Elements()
}

// IsMultiFormat tells a schema of AsyncAPI that says in which language it is.
func IsMultiFormat(s *tree.Node) bool {
	return s.Get("schema") != nil && s.Get("schemaFormat").Is(tree.Text)
}

// IsJSONSchema tells the media types of JSON Schema, and of what AsyncAPI and OpenAPI make of it, from
// others, such as application/vnd.apache.avro+json. Without one it is the schema of AsyncAPI.
func IsJSONSchema(format string) bool {
	mediaType, _, _ := strings.Cut(strings.ToLower(format), ";")
	name, _, _ := strings.Cut(strings.TrimSpace(mediaType), "+")
	return slices.Contains([]string{"", "application/schema", "application/json", "application/vnd.aai.asyncapi",
		"application/vnd.oai.openapi"}, name)
}

// A Value is one of an enum.
type Value struct {
	JSON *tree.Node
	Use  Use // what is said of it
}

// Listed returns the different values of enum, const, or oneOf with a const in each.
func Listed(s *tree.Node) (values []Value, key string) {
	seen := map[string]bool{}
	add := func(json *tree.Node, u Use) {
		if !json.Is(tree.Null) && !seen[json.Text] {
			seen[json.Text] = true
			values = append(values, Value{json, u})
		}
	}
	switch {
	case len(s.Get("enum").Elements()) > 0:
		key = "enum"
		for _, v := range s.Get("enum").Items {
			add(v, Use{})
		}
	case s.Get("const") != nil:
		key = "const"
		add(s.Get("const"), Use{})
	default:
		key = "oneOf"
		for _, branch := range s.Get("oneOf").Elements() {
			if branch.Get("const") == nil {
				return nil, ""
			}
			u := Use{Schema: branch}
			u.annotate(branch)
			add(branch.Get("const"), u)
		}
	}
	return values, key
}

// TextKind is the type that textType makes of a schema, with what is left of its format.
func TextKind(s *tree.Node) (kind, formatName string) {
	formatName = s.Str("format")
	switch pattern := s.Str("pattern"); {
	case s.Str("contentEncoding") == "base64" || textFormats[formatName] == "bytes":
		return "bytes", ""
	case textFormats[formatName] != "":
		return textFormats[formatName], ""
	case formatName == "uri" && pattern == export.URLPattern:
		return "string", "url"
	case pattern == export.DurationPattern:
		return "duration", ""
	case pattern == export.DecimalPattern:
		return "decimal", ""
	}
	return "string", formatName
}

// IsPayload tells whether values of a schema are objects of which something is known.
func IsPayload(s *tree.Node) bool {
	isObject := s.Str("type") == "object" || s.Get("type") == nil && s.Get("properties") != nil
	return s.Is(tree.Object) && isObject && IsStruct(Use{Schema: s, Def: s})
}

// textFormats are the formats of JSON Schema and OpenAPI that are types of their own.
var textFormats = map[string]string{
	"uuid": "uuid", "date-time": "time", "date": "date", "decimal": "decimal", "byte": "bytes", "base64": "bytes",
}

// IsEither tells a schema whose values are of one of two formats.
func IsEither(s *tree.Node, a, b string) bool {
	either := s.Get("anyOf").Elements()
	return len(either) == 2 && either[0].Str("format") == a && either[1].Str("format") == b
}

// An IntFormat is a name for integers of some size.
type IntFormat struct {
	Kind        string
	Least, Most string // what the type itself allows; empty for that of kind
}

var IntFormats = map[string]IntFormat{
	"int8":   {"int32", "-128", "127"},
	"int16":  {"int32", "-32768", "32767"},
	"int32":  {"int32", "", ""},
	"int64":  {"int64", "", ""},
	"uint8":  {"int32", "0", "255"},
	"uint16": {"int32", "0", "65535"},
	"uint32": {"int64", "0", "4294967295"},
	"uint64": {"uint64", "", ""},
}

// BeyondInt64 tells integers that are never negative, and can be larger than an int64.
func BeyondInt64(s *tree.Node) bool {
	values := ValuesIn(s)
	if most := s.Get("maximum"); most != nil {
		least, ok := s.Get("minimum").Rational()
		if above, hasAbove := s.Get("exclusiveMinimum").Rational(); hasAbove && above.Cmp(big.NewRat(-1, 1)) >= 0 {
			least, ok = new(big.Rat), true
		}
		if !ok || least.Sign() < 0 {
			return false
		}
		values = append(slices.Clone(values), most)
	}
	beyond := false
	for _, v := range values {
		n, ok := v.Rational()
		if !ok || n.Sign() < 0 || n.Cmp(new(big.Rat).SetInt(new(big.Int).SetUint64(math.MaxUint64))) > 0 {
			return false
		}
		beyond = beyond || n.Cmp(new(big.Rat).SetInt64(math.MaxInt64)) > 0
	}
	return beyond
}

// IsStruct tells a struct from a map. An object of which nothing is known is a map
// where it is used, and a struct without fields where it is a definition.
func IsStruct(u Use) bool {
	s := u.Schema
	if len(s.Get("properties").Properties()) > 0 || len(s.Get("required").Elements()) > 0 {
		return true
	}
	rest := s.Get("additionalProperties")
	if s.Get("patternProperties") != nil || rest.Is(tree.Object) || rest.IsTrue() {
		return false
	}
	return u.Def != nil || rest.Is(tree.Boolean) || s.Get("properties") != nil
}

// ValuesOfMap is the schema of the values of a map; patterned if it is that of a pattern of keys.
func ValuesOfMap(s *tree.Node) (rest *tree.Node, patterned bool) {
	rest = s.Get("additionalProperties")
	if patterns := s.Get("patternProperties").Properties(); (rest == nil ||
		rest.IsFalse()) && len(patterns) == 1 {
		return patterns[0].Value, true
	}
	return rest, false
}

// SaidBy tells whether the definition itself, and not the schema that refers to it, has said it.
func (u Use) SaidBy(n *tree.Node) bool {
	return slices.ContainsFunc(u.Schema.Members, func(m tree.Member) bool { return m.Value == n }) ||
		u.Def != nil && slices.ContainsFunc(u.Def.Members, func(m tree.Member) bool { return m.Value == n })
}

// Implied are the types that keywords are about, for schemas that do not say one.
var Implied = []struct {
	Kind     string
	Keywords []string
}{
	{"object", []string{"properties", "required", "additionalProperties", "patternProperties", "minProperties",
		"maxProperties", "propertyNames"}},
	{"array", []string{"items", "prefixItems", "minItems", "maxItems", "uniqueItems"}},
	{"string", []string{"minLength", "maxLength", "pattern", "format", "contentEncoding"}},
	{"number", []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}},
}

// KindsOf are the JSON types of the values of a schema; none if it does not say.
func KindsOf(s *tree.Node) []string {
	var kinds []string
	add := func(n *tree.Node) {
		if n.Is(tree.Text) && n.Text != "null" {
			kinds = append(kinds, n.Text)
		}
	}
	types := s.Get("type")
	add(types)
	if types.Is(tree.List) {
		for _, t := range types.Items {
			add(t)
		}
	}
	slices.Sort(kinds)
	kinds = slices.Compact(kinds)
	if slices.Equal(kinds, []string{"integer", "number"}) {
		return kinds[1:]
	}
	if (len(kinds) == 1 && kinds[0] == "number" || kinds == nil) && len(ValuesIn(s)) > 0 &&
		!slices.ContainsFunc(ValuesIn(s), func(v *tree.Node) bool { return !v.IsWhole() }) {
		return []string{"integer"} // a float64 has no room for all of their digits
	}
	if kinds == nil {
		for _, i := range Implied {
			if slices.ContainsFunc(i.Keywords, func(k string) bool { return s.Get(k) != nil }) {
				return []string{i.Kind}
			}
		}
	}
	if kinds == nil {
		return kindsOfValues(ValuesIn(s))
	}
	return kinds
}

// kindsOfValues is the type of texts or numbers; none for others.
func kindsOfValues(values []*tree.Node) []string {
	texts, numbers, truths := 0, 0, 0
	for _, v := range values {
		if v.Unsure {
			return nil
		}
		switch v.Kind {
		case tree.Text, tree.Null:
			texts++
		case tree.Number:
			numbers++
		case tree.Boolean:
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

// ItemsOf is the schema of all items of a list; nil if they have none, or one each. Items that have one each are of the
// same if these are equal, and there are no others.
func ItemsOf(s *tree.Node) *tree.Node {
	items, others, most := s.Get("prefixItems"), s.Get("items"), s.Get("maxItems")
	if s.Get("items").Is(tree.List) {
		items, others = s.Get("items"), s.Get("additionalItems")
	}
	if !items.Is(tree.List) {
		return s.Get("items")
	}
	n, counted := most.Rational()
	closed := others.IsFalse() ||
		counted && n.Cmp(big.NewRat(int64(len(items.Items)), 1)) <= 0
	if !closed || len(items.Items) == 0 || slices.ContainsFunc(items.Items, func(one *tree.Node) bool {
		return !tree.Same(one, items.Items[0])
	}) {
		return nil
	}
	return items.Items[0]
}
