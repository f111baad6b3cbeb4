package payload

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/plainjson"
)

// Sample makes up a payload with everything in it or, if that is too large, with required parts only. If
// neither is a valid payload, it returns a problem.
func Sample(e *catalog.Event) (json.RawMessage, *plainjson.Problem) {
	ranks := catalog.Ranks(catalog.Reachable(e.Fields))
	text, problem := (&maker{within: map[*catalog.Type]bool{}, ranks: ranks, left: maxSample}).payload(e)
	if problem != nil {
		text, problem = (&maker{within: map[*catalog.Type]bool{}, ranks: ranks, left: maxSample, sparse: true}).payload(e)
	}
	return text, problem
}

func (m *maker) payload(e *catalog.Event) (json.RawMessage, *plainjson.Problem) {
	text := m.object(e.Fields)
	if m.left < 0 {
		return nil, &plainjson.Problem{Message: fmt.Sprintf("it would be larger than %d bytes", maxSample)}
	}
	if problems := checkFields(e.Fields, text); problems != nil {
		return nil, &problems[0]
	}
	return text, nil
}

// maxSample limits the bytes of a payload that is made up.
const maxSample = 64 << 10

// A maker makes up values: each field is there, each list and map has one item, and each string is the name
// of its field.
type maker struct {
	within map[*catalog.Type]bool // the types around the current value
	ranks  map[*catalog.Type]int  // what a value needs has a lower rank
	left   int                    // bytes that may still be written; below 0 it is over
	sparse bool                   // only what must be there
	wrong  int                    // values so far that are against a constraint
}

func (m *maker) object(fields []*catalog.Field) json.RawMessage {
	var parts []string
	for _, f := range fields {
		text, ok := m.field(f)
		if ok {
			parts = append(parts, string(m.take(`"`+f.Name.V+`":`))+string(text))
		}
	}
	return m.enclosed('{', parts, '}')
}

// field makes up the value of a field. It returns false for an optional field that is better left out; a nullable one
// is null then.
func (m *maker) field(f *catalog.Field) (json.RawMessage, bool) {
	without := func() (json.RawMessage, bool) { return m.take("null"), !f.Type.Optional }
	if f.Type.MayBeNil() && (m.sparse || m.contains(f.Type)) {
		return without()
	}
	before := m.wrong
	text := m.value(f.Type, f.Label(), f.Constraints, 0)
	var c checker
	c.constraints(f.Type, f.Constraints, text)
	m.wrong += len(c.problems)
	if f.Type.MayBeNil() && m.wrong > before {
		m.wrong = before
		return without()
	}
	return text, true
}

// contains reports whether t leads back to a type that is being made up.
func (m *maker) contains(t *catalog.TypeRef) bool {
	named := t.Declared()
	return named != nil && m.within[named]
}

// enclosed puts parts into brackets. The parts are counted already.
func (m *maker) enclosed(opening byte, parts []string, closing byte) json.RawMessage {
	m.left -= 2 + len(parts)
	return json.RawMessage(string(opening) + strings.Join(parts, ",") + string(closing))
}

// take counts text against the limit.
func (m *maker) take(text string) json.RawMessage {
	m.left -= len(text)
	return json.RawMessage(text)
}

// value makes up the n-th value of type t, from 0, for the field of that name.
func (m *maker) value(t *catalog.TypeRef, name string, c catalog.Constraints, n int) json.RawMessage {
	if m.left < 0 {
		return json.RawMessage("null")
	}
	switch t = t.JSONType(); t.Kind {
	case catalog.List:
		return m.enclosed('[', m.items(t, name, c, func(int) string { return "" }), ']')
	case catalog.Map:
		return m.enclosed('{', m.items(t, name, c, mapKey), '}')
	case catalog.Named:
		return m.named(t.Named, n)
	case catalog.JSON:
		return m.take(`{"any":["JSON"]}`)
	}
	text := m.scalar(t.Kind, name, c, n)
	switch t.Kind {
	case catalog.Bool, catalog.Int, catalog.Int32, catalog.Int64, catalog.Uint64, catalog.Float64:
		return m.take(text)
	}
	return m.take(string(plainjson.Quote(text)))
}

// items makes up the items of a list or map, each behind its key. It makes one item, unless constraints want
// more or fewer.
func (m *maker) items(t *catalog.TypeRef, name string, c catalog.Constraints, key func(i int) string) []string {
	n := 1
	if m.sparse || m.contains(t) {
		n = 0
	}
	if n = max(n, c.MinItems.V); c.MaxItems.Written() {
		n = min(n, c.MaxItems.V)
	}
	var items []string
	for i := 0; i < n && m.left >= 0; i++ {
		items = append(items, key(i)+string(m.value(t.Elem, name, c.OfEach(), i)))
	}
	return items
}

func mapKey(i int) string {
	if i == 0 {
		return `"key":`
	}
	return fmt.Sprintf(`"key%d":`, i+1)
}

// scalar makes up a value in its JSON form without quotes.
func (m *maker) scalar(kind catalog.Kind, name string, c catalog.Constraints, n int) string {
	value := specimens[kind]
	switch kind {
	case catalog.String:
		value = sampleText(name, c)
	case catalog.Bytes:
		value = sampleBytes(c)
	case catalog.Int, catalog.Int32, catalog.Int64, catalog.Uint64, catalog.Float64, catalog.Decimal, catalog.Duration:
		value = sampleNumber(kind, c, value)
	}
	return vary(kind, value, n)
}

func (m *maker) named(t *catalog.Type, n int) json.RawMessage {
	if t.IsEnum() {
		return m.enum(t, n)
	}
	if outer := m.within[t]; !outer {
		defer delete(m.within, t)
	}
	if t.IsUnion() {
		return m.union(t)
	}
	m.within[t] = true
	return m.object(t.Fields)
}

// union chooses the first variant, or one that ends if the first could go on for ever.
func (m *maker) union(t *catalog.Type) json.RawMessage {
	chosen := t.Variants[0]
	if m.within[t] {
		chosen = slices.MinFunc(t.Variants, func(a, b *catalog.Variant) int { return cmp.Compare(m.rank(a), m.rank(b)) })
	}
	m.within[t] = true
	text := string(m.named(chosen.Type, 0))
	front := `{"` + t.Discriminator.V + `":"` + chosen.Name.V + `"`
	if text != "{}" {
		front += ","
	}
	m.left -= len(front)
	return json.RawMessage(front + strings.TrimPrefix(text, "{"))
}

func (m *maker) rank(v *catalog.Variant) int {
	if rank := m.ranks[v.Type]; rank > 0 {
		return rank
	}
	return math.MaxInt
}

// enum chooses the n-th value. Deprecated values come last.
func (m *maker) enum(t *catalog.Type, n int) json.RawMessage {
	var inUse, others []*catalog.EnumValue
	for _, v := range t.Values {
		if v.Deprecated.Written() {
			others = append(others, v)
		} else {
			inUse = append(inUse, v)
		}
	}
	chosen := append(inUse, others...)[n%len(t.Values)]
	return m.take(string(chosen.JSON(t)))
}

// specimens has a value for each scalar, in its JSON form without quotes.
var specimens = map[catalog.Kind]string{
	catalog.Bool:     "true",
	catalog.Int:      "1",
	catalog.Int32:    "1",
	catalog.Int64:    "1",
	catalog.Uint64:   "1",
	catalog.Float64:  "0.5",
	catalog.Decimal:  "1.50",
	catalog.Time:     "2024-02-29T12:30:00Z",
	catalog.Date:     "2024-02-29",
	catalog.Duration: "1h30m0s",
	catalog.UUID:     "018f4f2e-0000-7000-8000-000000000001",
}
