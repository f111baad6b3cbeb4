package catalog

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/busgen/busgen/internal/diag/rules"
)

// Sample returns the JSON of a payload of e: the first of its examples, or one
// that is made up. It is valid, and the same every time.
func (e *Event) Sample() json.RawMessage {
	if len(e.Examples) > 0 {
		return e.Examples[0].JSON
	}
	return e.madeUp
}

// madeUp makes up a payload: with everything in it or, where that would be too
// large, with what it must have. The error says what is wrong with it.
func madeUp(e *Event) (json.RawMessage, *PayloadProblem) {
	ranks := finite(reachable(e.Fields))
	text, problem := (&maker{within: map[*Type]bool{}, ranks: ranks, left: maxSample}).payload(e)
	if problem != nil {
		text, problem = (&maker{within: map[*Type]bool{}, ranks: ranks, left: maxSample, sparse: true}).payload(e)
	}
	return text, problem
}

func (m *maker) payload(e *Event) (json.RawMessage, *PayloadProblem) {
	text := m.object(e.Fields)
	if m.left < 0 {
		return nil, &PayloadProblem{Message: fmt.Sprintf("it would be larger than %d bytes", maxSample)}
	}
	var check payloadCheck
	check.object("", e.Fields, text)
	if len(check.problems) > 0 {
		return nil, &check.problems[0]
	}
	return text, nil
}

// checkSamples makes up the payloads of events without an example, and reports those of which no payload can be made up.
func (r *reader) checkSamples(events []*Event) {
	bytes := 0
	for _, e := range events {
		if len(e.Examples) > 0 {
			continue
		}
		text, problem := madeUp(e)
		if e.madeUp = text; problem != nil {
			r.report(r.nameAt(e.Name), rules.Example, "no example of event %s can be made up: %s", e.Name.V, problem).
				Hint = "add one under its key examples"
		}
		if bytes += len(text); bytes > maxSamples {
			r.report(r.nameAt(e.Name), rules.Example, "the examples that are made up would be larger than %d MiB in all", maxSamples>>20).
				Hint = "add short ones under the key examples of events with large payloads, or make several catalogues"
			return
		}
	}
}

// maxSamples is how many bytes all payloads that are made up may have. A line of a catalogue can be an event whose
// payload is a thousand times as large.
var maxSamples = 64 << 20 // a variable for tests

// maxSample is how many bytes a payload that is made up may have.
const maxSample = 64 << 10

// A maker makes up values, the way a person would who has little time: each
// field is there, each list and map has one item, each text is the name of its field.
type maker struct {
	within map[*Type]bool // the types around the current value
	ranks  map[*Type]int  // what a value needs has a lower rank
	left   int            // bytes that may still be written; below 0 it is over
	sparse bool           // only what must be there
	wrong  int            // values so far that are against a constraint
}

func (m *maker) object(fields []*Field) json.RawMessage {
	var parts []string
	for _, f := range fields {
		text, ok := m.field(f)
		if ok {
			parts = append(parts, string(m.take(`"`+f.Name.V+`":`))+string(text))
		}
	}
	return m.enclosed('{', parts, '}')
}

// field returns false for an optional field that is better left out.
func (m *maker) field(f *Field) (json.RawMessage, bool) {
	if f.Type.Optional && (m.sparse || m.contains(f.Type)) {
		return nil, false
	}
	before := m.wrong
	text := m.value(f.Type, f.Name.V, f.Constraints, 0)
	var check payloadCheck
	check.constraints("", f, text)
	m.wrong += len(check.problems)
	if f.Type.Optional && m.wrong > before {
		m.wrong = before
		return nil, false
	}
	return text, true
}

// contains tells whether t leads back to a type that is being made up.
func (m *maker) contains(t *TypeRef) bool {
	named := t.named()
	return named != nil && m.within[named]
}

// enclosed puts what was counted already into brackets.
func (m *maker) enclosed(opening byte, parts []string, closing byte) json.RawMessage {
	m.left -= 2 + len(parts)
	return json.RawMessage(string(opening) + strings.Join(parts, ",") + string(closing))
}

// take counts what was written.
func (m *maker) take(text string) json.RawMessage {
	m.left -= len(text)
	return json.RawMessage(text)
}

// value makes up the n-th value of type t, from 0, for the field of that name.
func (m *maker) value(t *TypeRef, name string, c Constraints, n int) json.RawMessage {
	if m.left < 0 {
		return json.RawMessage("null")
	}
	switch t = t.wire(); t.Kind {
	case List:
		return m.enclosed('[', m.items(t, name, c, func(int) string { return "" }), ']')
	case Map:
		return m.enclosed('{', m.items(t, name, c, mapKey), '}')
	case Named:
		return m.named(t.Named, n)
	case JSON:
		return m.take(`{"any":["JSON"]}`)
	}
	text := m.scalar(t.Kind, name, c, n)
	switch t.Kind {
	case Bool, Int, Int32, Int64, Uint64, Float64:
		return m.take(text)
	}
	return m.take(string(quoteJSON(text)))
}

// items makes up the items of a list or map, each behind its key: one, unless
// there must be more or less of them.
func (m *maker) items(t *TypeRef, name string, c Constraints, key func(i int) string) []string {
	n := 1
	if m.sparse || m.contains(t) {
		n = 0
	}
	if n = max(n, c.MinItems.V); c.MaxItems.Written() {
		n = min(n, c.MaxItems.V)
	}
	var items []string
	for i := 0; i < n && m.left >= 0; i++ {
		items = append(items, key(i)+string(m.value(t.Elem, name, Constraints{}, i)))
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
func (m *maker) scalar(kind Kind, name string, c Constraints, n int) string {
	value := specimens[kind]
	switch kind {
	case String:
		value = sampleText(name, c)
	case Bytes:
		value = sampleBytes(c)
	case Int, Int32, Int64, Uint64, Float64, Decimal, Duration:
		value = sampleNumber(kind, c, value)
	}
	return vary(kind, value, n)
}

func (m *maker) named(t *Type, n int) json.RawMessage {
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

// union chooses the first variant, or one that comes to an end if that could go
// on for ever.
func (m *maker) union(t *Type) json.RawMessage {
	chosen := t.Variants[0]
	if m.within[t] {
		chosen = slices.MinFunc(t.Variants, func(a, b *Variant) int { return cmp.Compare(m.rank(a), m.rank(b)) })
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

func (m *maker) rank(v *Variant) int {
	if rank := m.ranks[v.Type]; rank > 0 {
		return rank
	}
	return math.MaxInt
}

// reachable lists the declared types that fields are made of.
func reachable(fields []*Field) []*Type {
	var all []*Type
	seen := map[*Type]bool{}
	var visit func(t *Type)
	visit = func(t *Type) {
		if !seen[t] {
			seen[t] = true
			all = append(all, t)
			for _, next := range t.references() {
				visit(next)
			}
		}
	}
	for _, next := range (&Type{Fields: fields}).references() {
		visit(next)
	}
	return all
}

// enum chooses the n-th value, those in front that are in use.
func (m *maker) enum(t *Type, n int) json.RawMessage {
	var inUse, others []*EnumValue
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

// specimens are values of scalars, in their JSON form without quotes.
var specimens = map[Kind]string{
	Bool:     "true",
	Int:      "1",
	Int32:    "1",
	Int64:    "1",
	Uint64:   "1",
	Float64:  "0.5",
	Decimal:  "1.50",
	Time:     "2024-02-29T12:30:00Z",
	Date:     "2024-02-29",
	Duration: "1h30m0s",
	UUID:     "018f4f2e-0000-7000-8000-000000000001",
}
