package catalogtest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/busgen/busgen/internal/catalog"
)

// WireForms returns payloads that show what the JSON of e is in a version, byte for byte as
// generated code writes it; none for a version that it does not have. They are made of the
// shape of the payload alone: examples, constraints and docs do not count. Every field is
// there, numbers are the largest of their type, and each value of an enum and each variant of a
// union is in one of them, as far as maxWireForms of them hold it, with 64 KiB in all. A type
// that contains itself does so once. A payload that is larger than that has only what it must
// have, and there is none if even this is larger.
func WireForms(e *catalog.Event, version int) []json.RawMessage {
	fields, ok := e.FieldsOf(version)
	if !ok {
		return nil
	}
	types := catalog.Reachable(fields)
	m := wireMaker{within: map[*catalog.Type]int{}, ranks: catalog.Ranks(types), next: map[*catalog.Type]int{}}
	missing := 0
	for _, t := range types {
		missing += alternatives(t)
	}
	var forms []json.RawMessage
	total := 0
	for tries := 4*missing + 1; tries > 0 && len(forms) < maxWireForms; tries-- {
		form := m.payload(fields)
		if total += len(form); form == nil || forms != nil && total > maxForm {
			break
		}
		if !slices.ContainsFunc(forms, func(known json.RawMessage) bool { return bytes.Equal(known, form) }) {
			forms = append(forms, form)
		}
		if !slices.ContainsFunc(types, func(t *catalog.Type) bool { return m.next[t] < alternatives(t) }) {
			break
		}
	}
	return forms
}

// maxForm is how many bytes a form may have, and all together.
const maxForm = 64 << 10

// maxWireForms is how many payloads show one version of an event.
const maxWireForms = 100

// alternatives counts the values of an enum, or the variants of a union.
func alternatives(t *catalog.Type) int { return len(t.Values) + len(t.Variants) }

// A wireMaker makes up payloads, one after the other: each takes the next value of
// every enum, and the next variant of every union.
type wireMaker struct {
	within map[*catalog.Type]int // how many values of the type are around the current one
	ranks  map[*catalog.Type]int // what a value needs has a lower rank
	next   map[*catalog.Type]int // alternatives that were taken so far
	depth  int                   // how often a value may be within others of its type
	sparse bool                  // only what must be there
	left   int                   // bytes that may still be written; below 0 it is over
}

// payload makes less and less of it, until it is small enough.
func (m *wireMaker) payload(fields []*catalog.Field) json.RawMessage {
	taken := m.next
	for _, m.sparse = range []bool{false, true} {
		for _, m.depth = range []int{2, 1} {
			m.left, m.next = maxForm, maps.Clone(taken)
			var form bytes.Buffer
			json.HTMLEscape(&form, []byte(m.object(fields)))
			if m.left >= 0 {
				return form.Bytes()
			}
		}
	}
	return nil
}

// wireSpecimens are values of scalars in JSON. Those of numbers do not fit a smaller type.
var wireSpecimens = map[catalog.Kind]string{
	catalog.String: `"text"`, catalog.Bool: "true", catalog.Bytes: `"AAH/"`, catalog.JSON: `{"any":["JSON"]}`, catalog.Decimal: `"-12.50"`,
	catalog.Int: "9223372036854775807", catalog.Int32: "2147483647", catalog.Int64: "9223372036854775807", catalog.Uint64: "18446744073709551615", catalog.Float64: "0.5",
	catalog.Time: `"2024-02-29T12:30:00Z"`, catalog.Date: `"2024-02-29"`, catalog.Duration: `"1h30m0s"`, catalog.UUID: `"018f4f2e-0000-7000-8000-000000000001"`,
}

func (m *wireMaker) object(fields []*catalog.Field) string {
	var parts []string
	for _, f := range fields {
		switch without := m.sparse || m.tooDeep(f.Type); {
		case without && f.Type.Optional:
		case without && f.Type.Nullable:
			parts = append(parts, m.take(`"`+f.Name.V+`":null`))
		default:
			parts = append(parts, m.take(`"`+f.Name.V+`":`)+m.value(f.Type))
		}
	}
	return m.take("{") + strings.Join(parts, ",") + m.take("}")
}

// take counts what is written.
func (m *wireMaker) take(text string) string {
	m.left -= len(text) + 1
	return text
}

// tooDeep tells whether t leads back to a type that has enough values around already.
func (m *wireMaker) tooDeep(t *catalog.TypeRef) bool {
	named := t.Declared()
	return named != nil && m.within[named] >= m.depth
}

func (m *wireMaker) value(t *catalog.TypeRef) string {
	if m.left < 0 {
		return "null"
	}
	t = t.JSONType()
	switch elements := !m.sparse && !m.tooDeep(t); {
	case t.Kind == catalog.List && elements:
		return m.take("[") + m.value(t.Elem) + m.take("]")
	case t.Kind == catalog.List:
		return m.take("[]")
	case t.Kind == catalog.Map && elements:
		return m.take(`{"key":`) + m.value(t.Elem) + m.take("}")
	case t.Kind == catalog.Map:
		return m.take("{}")
	case t.Kind == catalog.Named:
		return m.named(t.Named)
	}
	return m.take(wireSpecimens[t.Kind])
}

func (m *wireMaker) named(t *catalog.Type) string {
	m.within[t]++
	defer func() { m.within[t]-- }()
	switch {
	case t.IsEnum():
		values := make([]string, len(t.Values))
		for i, v := range t.Values {
			values[i] = string(v.JSON(t))
		}
		slices.Sort(values) // their order in the file means nothing
		return m.take(values[m.turn(t)])
	case t.IsUnion():
		return m.union(t)
	}
	return m.object(t.Fields)
}

// turn returns the number of the alternative that is next.
func (m *wireMaker) turn(t *catalog.Type) int {
	m.next[t]++
	return (m.next[t] - 1) % alternatives(t)
}

// union takes the next variant, or one that comes to an end.
func (m *wireMaker) union(t *catalog.Type) string {
	variants := slices.SortedFunc(slices.Values(t.Variants), func(a, b *catalog.Variant) int { return strings.Compare(a.Name.V, b.Name.V) })
	var chosen *catalog.Variant
	if m.within[t] > m.depth {
		chosen = slices.MinFunc(variants, func(a, b *catalog.Variant) int { return cmp.Compare(m.rank(a), m.rank(b)) })
	} else {
		chosen = variants[m.turn(t)]
	}
	rest := strings.TrimPrefix(m.named(chosen.Type), "{")
	front := m.take(`{"` + t.Discriminator.V + `":"` + chosen.Name.V + `"`)
	if rest != "}" {
		front += ","
	}
	return front + rest
}

func (m *wireMaker) rank(v *catalog.Variant) int {
	if rank := m.ranks[v.Type]; rank > 0 {
		return rank
	}
	return math.MaxInt
}
