// Package catalogtest makes catalogues for tests of what is generated from them.
package catalogtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/format"
	"pgregory.net/rapid"
)

// A maker makes catalogues that are likely to be free of findings, from
// names and texts that are likely to make trouble.
type maker struct {
	t     *rapid.T
	types []string
	depth int // of the fields that are being made
	// subscriptions counts those that were made, because each needs a name of its own.
	subscriptions int
	former        int // the former names of fields so far
	wires         int // the names on the wire so far
	limited       bool
}

// Made draws a catalogue. Most of them are free of findings.
func Made(t *rapid.T) string {
	m := &maker{t: t}
	for i := range m.upTo(5) {
		m.types = append(m.types, m.one("type", typeNames)+strings.Repeat("X", i))
	}
	typeSection, events := object{}, object{}
	m.limited = m.seldom()
	for _, name := range m.types {
		typeSection.set(name, m.typeBody())
	}
	for range 1 + m.upTo(3) {
		events.set(m.one("event", eventNames), m.event())
	}
	root := object{}.set("version", 1).set("package", m.one("package", packageNames))
	if m.seldom() {
		root.set("test_kit", true)
	}
	if m.seldom() {
		outside := object{"source": m.one("source", []string{"/", "urn:a:b", "https://a.example/%20?q#f"})}
		if m.seldom() {
			outside.set("type_prefix", m.one("prefix", []string{"com.example.", "größe/", "$"})).set("dataschema", "x:{type}/{version}/{type}")
		}
		root.set("cloudevents", outside)
	}
	if m.seldom() {
		root.set("go_types", object{"uuid": uuidType, "time": "time.Time", "date": "github.com/busgen/busgen/runtime.Date", "duration": "github.com/busgen/busgen/runtime.Duration"})
	}
	if m.limited {
		root.set("limits", object{
			"bank":    object{"doc": m.one("doc", texts), "at_once": 3},
			"mail.id": object{"rate": "100 per 1m"},
		})
	}
	if m.seldom() {
		headers := object{}
		for range 1 + m.upTo(2) {
			headers.set(m.one("header", []string{"tenant", "X-A.b_1", "a", "value", "metadata"}), m.one("type", catalog.HeaderTypes))
		}
		root.set("headers", headers)
		if m.seldom() {
			root.set("policies", object{"*": object{"headers": object{"own": object{"type": "int", "required": m.seldom(), "doc": m.one("doc", texts)}}}})
		}
	}
	m.share(typeSection)
	return root.set("types", typeSection).set("events", events).String()
}

// share adds the types that every catalogue has, and returns their names.
func (m *maker) share(types object) []string {
	types.set(mixin, object{"reserved": []string{"mixed_gone"}, "fields": object{
		"mixed":       "string?",
		"mixed_other": object{"type": m.one("mixed", []string{"{}", "[]{}?", "map[string]{}"}), "fields": object{"at": "time"}, "was": "mixed_former"},
	}})
	for name, body := range namedScalars {
		types.set(name, body)
	}
	return append(slices.Sorted(maps.Keys(namedScalars)), mixin)
}

// object is a mapping in YAML, which takes JSON.
type object map[string]any

func (o object) set(key string, value any) object {
	o[key] = value
	return o
}

func (o object) String() string {
	text, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	return string(text)
}

const uuidType = "github.com/google/uuid.UUID"

var (
	packageNames = []string{"events", "testing", "runtimetest", "t", "T", "kit", "events_", "événements", "catalogue"}
	typeNames    = []string{"T", "Type", "String", "Error", "Problems", "JSON", "Context", "Time", "Event", "Payment"}
	eventNames   = []string{"a", "order.placed", "order.line.added", "func.type", "init", "len.cap", "x.y"}
	fieldNames   = []string{"id", "type", "p", "v", "w", "r", "d", "json", "time", "value", "other", "a_b", "n1", "wire", "deep"}
	valueNames   = []string{"a", "b", "D", "1", "日本", "a-b", "`", "\"x", "x y", "*/x", "nil"}
	texts        = []string{"", "Plain.", "*/ }", "`", "//go:build x", "a\n\nb", "\u202e", "Deprecated: no", "\t code", "%s ${x}", "x\u2028y"}
	namedScalars = map[string]any{"ID": "uuid", "Mail": map[string]any{"type": "string", "max_length": 300}, "Cents": "int64", "Day": "date", "Wait": "duration", "Price": map[string]any{"type": "decimal", "min": 1}}
	scalars      = []string{"string", "ID", "Mail", "Cents", "Day", "Wait", "Price", "bool", "int", "int32", "int64", "uint64", "float64", "bytes", "time", "date", "duration", "uuid", "decimal", "json"}
)

func (m *maker) one(label string, from []string) string {
	return rapid.SampledFrom(from).Draw(m.t, label)
}

func (m *maker) upTo(n int) int { return rapid.IntRange(0, n).Draw(m.t, "n") }

func (m *maker) seldom() bool { return m.upTo(3) == 0 }

// noted adds what can be said of anything.
func (m *maker) noted(o object) object {
	if m.seldom() {
		o.set("doc", m.one("doc", texts))
	}
	if m.seldom() {
		o.set("deprecated", m.one("reason", texts[1:]))
	}
	return o
}

// schemaNamed adds what documents call a schema.
func (m *maker) schemaNamed(o object) object {
	if m.seldom() {
		o.set("schema", m.one("schema", []string{"order-line.v1", "A", "b", "_", "Mixin"}))
	}
	return o
}

func (m *maker) typeBody() object {
	o := m.schemaNamed(m.noted(object{}))
	switch m.upTo(5) {
	case 0:
		return o.set("enum", rapid.SliceOfNDistinct(rapid.SampledFrom(valueNames), 1, 4, rapid.ID).Draw(m.t, "values"))
	case 1:
		values := object{}
		for i := range 1 + m.upTo(3) {
			values.set(m.one("value", valueNames), m.noted(object{"number": i - 1}))
		}
		return o.set("enum", values)
	case 2:
		variants := object{}
		for range 1 + m.upTo(3) {
			if len(m.types) > 0 && m.upTo(1) == 0 {
				variants.set(m.one("variant", []string{"a", "b", "C", "d-e"}), m.one("type", m.types))
			} else {
				variants.set(m.one("variant", []string{"a", "b", "C", "d-e"}), object{"fields": m.fields()})
			}
		}
		return o.set("one_of", variants).set("discriminator", m.one("discriminator", []string{"kind", "of"}))
	case 3:
		custom := m.one("custom", []string{"net/netip Addr", "math/big Int", "net/url URL"})
		path, name, _ := strings.Cut(custom, " ")
		return o.set("go", object{"import": path, "type": name}).set("type", m.one("wire", []string{"string", "json"}))
	}
	return m.mixing(m.reserving(o)).set("fields", m.fields())
}

// mixing adds the fields of a struct that every catalogue has, which have names of their own.
func (m *maker) mixing(o object) object {
	if m.seldom() {
		o.set("mixins", []string{mixin})
	}
	return o
}

const mixin = "Mixin"

// reserving adds names that no field has.
func (m *maker) reserving(o object) object {
	if m.seldom() {
		o.set("reserved", []string{"gone", "long_gone"})
	}
	return o
}

func (m *maker) event() object {
	o := m.schemaNamed(m.mixing(m.reserving(m.noted(object{})))).set("payload", m.fields())
	if m.seldom() {
		o.set("json_names", m.one("json names", []string{"camel", "pascal", "snake"}))
	}
	if m.seldom() {
		m.wires++
		o.set("wire", m.one("wire", []string{"OrderPlaced", "größe.", "a>b/", "日本'`", "x.y.", "<&>"})+fmt.Sprint(m.wires))
	}
	if m.seldom() {
		o.set("owner", "somebody").set("tags", []string{"a", "b"})
	}
	if m.seldom() {
		m.subscriptions++
		o.set("subscriptions", object{fmt.Sprint("send-receipt-", m.subscriptions): object{"aliases": []string{fmt.Sprint("alias-", m.subscriptions)}}})
	}
	if m.limited {
		o.set("limits", m.limits(o["payload"].(object)))
	}
	if m.seldom() {
		m.history(o)
	}
	return o
}

// limits are by one of the fields that can be a key, if there is one.
func (m *maker) limits(fields object) []any {
	all := []any{"bank"}
	for _, name := range fieldNames {
		if of, plain := fields[name].(string); plain && slices.Contains([]string{"string", "bool", "int", "int32", "int64", "uint64", "uuid"}, of) {
			return append(all, object{"limit": "mail.id", "by": name})
		}
	}
	return all
}

// history gives an event up to three versions before, of which the first may be dropped.
func (m *maker) history(o object) {
	versions := 1 + m.upTo(2)
	old := object{}
	for n := 1; n <= versions; n++ {
		old.set(fmt.Sprint(n), m.mixing(m.noted(object{"payload": m.fields()})))
	}
	for _, shape := range old {
		delete(shape.(object), "deprecated")
	}
	if m.seldom() {
		old.set("1", "dropped")
	}
	o.set("version", versions+1).set("history", old)
	if m.seldom() {
		m.subscriptions++
		o.set("aliases", []string{fmt.Sprint("former.name_", m.subscriptions)})
	}
}

func (m *maker) fields() object {
	m.depth++
	defer func() { m.depth-- }()
	fields := object{}
	for range m.upTo(4) {
		fields.set(m.one("field", fieldNames), m.field())
	}
	return fields
}

func (m *maker) field() any {
	bare := m.fieldType()
	if m.upTo(2) > 0 {
		return bare
	}
	o := m.noted(object{})
	if m.depth < 3 && m.seldom() {
		m.mixing(m.reserving(o)).set("fields", m.fields())
		bare = m.one("shape", []string{"{}", "[]{}", "map[string]{}", "{}?", "[]{}?", "{}|null"})
	}
	o.set("type", bare)
	if m.seldom() {
		m.former++
		o.set("json", m.one("json", []string{"-", "größe ", "<&>", "名前.x[0]", "json"})+strings.Repeat("x", m.former))
	}
	switch m.upTo(3) {
	case 0:
		m.former++
		o.set("was", fmt.Sprint("was_", m.former))
	case 1:
		m.former += 2
		o.set("was", []string{fmt.Sprint("was_", m.former-1), fmt.Sprint("was_", m.former)})
	}
	return m.constrained(o, bare)
}

func (m *maker) fieldType() string {
	of := m.one("scalar", scalars)
	if len(m.types) > 0 && m.upTo(2) == 0 {
		of = m.one("type", m.types)
	}
	for range m.upTo(2) {
		of = m.one("shape", []string{"", "[]", "map[string]"}) + of
	}
	return of + m.one("mark", []string{"", "", "?", "|null"})
}

// each adds constraints of what is in a list or map of texts or numbers.
func (m *maker) each(o object, of string) {
	each, key := object{}, "items"
	inner, isList := strings.CutPrefix(of, "[]")
	if !isList {
		inner, key = strings.TrimPrefix(of, "map[string]"), "values"
	}
	switch {
	case strings.HasPrefix(inner, "[]"), strings.HasPrefix(inner, "map"):
		each.set("max_items", 2)
		m.each(each, inner)
	case inner == "string":
		each.set("pattern", m.one("pattern", []string{"^a+$", "`", "x|y"})).set("max_length", 30)
	case inner == "int", inner == "uint64", inner == "decimal":
		each.set("min", 1)
	}
	if len(each) > 0 && m.seldom() {
		o.set(key, each)
	}
}

// constrained adds constraints and a default that suit the type, more or less.
func (m *maker) constrained(o object, of string) object {
	if m.seldom() {
		o.set("sensitive", m.seldom()).set("personal", true)
	}
	bare, _ := catalog.CutMark(of)
	switch {
	case strings.HasPrefix(bare, "[]"), strings.HasPrefix(bare, "map"):
		o.set("min_items", m.upTo(2)).set("max_items", 2+m.upTo(1))
		m.each(o, bare)
		if m.seldom() && strings.HasPrefix(bare, "[]") {
			o.set("unique", true)
		}
	case bare == "string":
		switch m.upTo(3) {
		case 0:
			o.set("pattern", m.one("pattern", []string{"^a+$", "`", `^[\d"\\]{2,3}$`, "x|y", "(?i)\u202e", "^$"}))
		case 1:
			o.set("format", m.one("format", format.Names()))
		case 2:
			o.set("min_length", m.upTo(3)).set("max_length", 3+m.upTo(300))
		case 3:
			o.set("default", m.one("default", texts))
		}
	case bare == "bool":
		o.set("default", m.seldom())
	case bare == "date", bare == "uuid":
		o.set("default", map[string]string{"date": "2024-02-29", "uuid": "018f4f2e-0000-7000-8000-000000000001"}[bare])
	case bare == "int", bare == "int32", bare == "int64", bare == "uint64", bare == "float64":
		o.set("min", m.upTo(5)).set("max", 5+m.upTo(1000))
		if m.upTo(1) == 0 {
			o.set("default", 5)
		}
	case bare == "decimal":
		o.set("min", "0.50").set("max", json.Number("1000.5")).set("default", "0.75")
	case bare == "duration":
		o.set("min", "-1h").set("max", "7d").set("default", "90m")
	}
	return o
}
