package types

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse/text"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/payload"
	"github.com/busgen/busgen/internal/plainjson"
)

// JSON turns a piece of YAML into the JSON of a value of type t, and reports what
// is wrong with it, by rule. Unless the types could be read, it only looks at the YAML.
func JSON(r *text.Reader, n *yaml.Node, what string, t *catalog.TypeRef, typesOK bool,
	rule *diag.Rule) (json.RawMessage, bool) {
	before := len(r.Findings)
	c := converter{Reader: r, rule: rule, what: what, places: map[string]diag.Place{}, refused: map[string]bool{}}
	text := c.value("", n, t, 0)
	if !typesOK {
		return nil, false
	}
	for _, problem := range payload.CheckValue(t, text) {
		if !c.isRefused(problem.Path) {
			r.Report(c.placeOf(problem.Path), rule, "%s: %s", c.name(problem.Path), problem.Message)
		}
	}
	return text, len(r.Findings) == before
}

// maxExampleDepth limits how deep lists and mappings of an example are nested.
const maxExampleDepth = 100

// A converter makes JSON of YAML. Where YAML leaves open what is meant, as in
// 2024-02-29, the type of the field decides.
type converter struct {
	*text.Reader
	rule    *diag.Rule
	what    string                // for messages: example 1 of event order.placed
	places  map[string]diag.Place // of the values, by path
	refused map[string]bool       // the paths of values with findings
}

// refuse stands null in for a value with findings.
func (c *converter) refuse(path string) json.RawMessage {
	c.refused[path] = true
	return json.RawMessage("null")
}

// isRefused tells whether there is a finding about the value at path, or about one around it.
func (c *converter) isRefused(path string) bool {
	for refused := range c.refused {
		rest, inside := strings.CutPrefix(path, refused)
		if inside && (refused == "" || rest == "" || rest[0] == '.' || rest[0] == '[') {
			return true
		}
	}
	return false
}

// placeOf returns the place of the value at path or, if that is missing, of the value around it.
func (c *converter) placeOf(path string) diag.Place {
	for {
		place, known := c.places[path]
		if known || path == "" {
			return place
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))] // perhaps within a name that has one
	}
}

// name names the value at path in a message.
func (c *converter) name(path string) string {
	if path == "" {
		return c.what
	}
	return path + " of " + c.what
}

// value returns the JSON of n, and null after a finding. The type is nil where
// there is none: inside a value of type json, and under a key that is unknown.
func (c *converter) value(path string, n *yaml.Node, t *catalog.TypeRef, depth int) json.RawMessage {
	if _, known := c.places[path]; !known {
		c.places[path] = c.Place(n)
	}
	if depth > maxExampleDepth {
		c.Report(c.Place(n), c.rule, "%s has values in values more than %d deep", c.what, maxExampleDepth)
		return c.refuse("")
	}
	switch n.Kind {
	case yaml.MappingNode:
		return c.mappingValue(path, n, t, depth)
	case yaml.SequenceNode:
		return c.listValue(path, n, t, depth)
	case yaml.ScalarNode:
		return c.scalarValue(path, n, t)
	}
	c.WrongKind(n, c.name(path), "a value")
	return c.refuse(path)
}

func (c *converter) listValue(path string, n *yaml.Node, t *catalog.TypeRef, depth int) json.RawMessage {
	var elem *catalog.TypeRef
	if t = t.JSONType(); t != nil && t.Kind == catalog.List {
		elem = t.Elem
	}
	items := make([]string, len(n.Content))
	for i, item := range n.Content {
		items[i] = string(c.value(fmt.Sprintf("%s[%d]", path, i), item, elem, depth+1))
	}
	return json.RawMessage("[" + strings.Join(items, ",") + "]")
}

// pair is a key of an object with its value.
type pair struct {
	rank  int // among the fields of a struct
	key   string
	value json.RawMessage
}

func (c *converter) mappingValue(path string, n *yaml.Node, t *catalog.TypeRef, depth int) json.RawMessage {
	entries, _ := c.Mapping(n, c.name(path))
	t = t.JSONType()
	fields, isStruct := c.fieldsIn(entries, t)
	var pairs []pair
	for _, e := range entries {
		p, at, of := pair{key: e.Name}, plainjson.Join(path, e.Name), (*catalog.TypeRef)(nil)
		switch {
		case isStruct:
			p.rank = slices.IndexFunc(fields, func(f *catalog.Field) bool { return f.Name.V == e.Name })
			if p.rank < 0 {
				c.places[at] = c.Place(e.Key) // the value is not to blame
			} else if of = fields[p.rank].Type; of.Optional && text.IsNull(e.Value) {
				continue
			}
		case t != nil && t.Kind == catalog.Map:
			at, of = fmt.Sprintf("%s[%q]", path, e.Name), t.Elem
		}
		p.value = c.value(at, e.Value, of, depth+1)
		pairs = append(pairs, p)
	}
	switch {
	case isStruct:
		slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(a.rank, b.rank) })
	case t != nil && t.Kind == catalog.Map:
		slices.SortFunc(pairs, func(a, b pair) int { return cmp.Compare(a.key, b.key) })
	}
	var out strings.Builder
	for i, p := range pairs {
		if i > 0 {
			out.WriteByte(',')
		}
		out.Write(plainjson.Quote(p.key))
		out.WriteByte(':')
		out.Write(p.value)
	}
	return json.RawMessage("{" + out.String() + "}")
}

// fieldsIn returns the fields that a mapping of type t has.
func (c *converter) fieldsIn(entries []text.Entry, t *catalog.TypeRef) (fields []*catalog.Field, isStruct bool) {
	switch {
	case t == nil || t.Kind != catalog.Named:
		return nil, false
	case t.Named.IsStruct():
		return t.Named.Fields, true
	case t.Named.IsUnion():
		return variantFields(entries, t.Named), true
	}
	return nil, false
}

// variantFields returns the discriminator, and the fields of the variant that it names.
func variantFields(entries []text.Entry, union *catalog.Type) []*catalog.Field {
	fields := []*catalog.Field{{Name: union.Discriminator, Type: &catalog.TypeRef{Kind: catalog.String, Text: "string"}}}
	for _, e := range entries {
		for _, v := range union.Variants {
			if e.Name == union.Discriminator.V && e.Value.Value == v.Name.V {
				return append(fields, v.Type.Fields...)
			}
		}
	}
	return fields
}

func (c *converter) scalarValue(path string, n *yaml.Node, t *catalog.TypeRef) json.RawMessage {
	if t = t.JSONType(); t != nil && !text.IsNull(n) {
		switch t.Kind {
		case catalog.Bytes, catalog.Time, catalog.Date, catalog.UUID, catalog.Decimal:
			return plainjson.Quote(n.Value)
		case catalog.Duration:
			return plainjson.Quote(text.DurationText(n.Value))
		case catalog.String:
			return c.textValue(path, n)
		case catalog.Named:
			if t.Named.IsEnum() && !t.Named.Integer {
				return c.textValue(path, n)
			}
		}
	}
	switch n.ShortTag() {
	case "!!str", "!!timestamp":
		return plainjson.Quote(n.Value)
	case "!!int", "!!float":
		switch number, ok := text.JSONNumber(n); {
		case ok:
			return json.RawMessage(number)
		case text.IsInfinite(n):
			c.Report(c.Place(n), c.rule, "%s is %s, which JSON has no number for", c.name(path), n.Value)
		default:
			c.NotPlain(n, c.name(path))
		}
		return c.refuse(path)
	case "!!bool":
		var b bool
		if n.Decode(&b) == nil {
			return json.RawMessage(fmt.Sprint(b))
		}
	case "!!null":
		if n.Value != "" {
			return json.RawMessage("null")
		}
	}
	c.WrongKind(n, c.name(path), "a value")
	return c.refuse(path)
}

func (c *converter) textValue(path string, n *yaml.Node) json.RawMessage {
	v, ok := c.Text(n, c.name(path))
	if !ok {
		return c.refuse(path)
	}
	return plainjson.Quote(v.V)
}
