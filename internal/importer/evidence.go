package importer

import (
	"encoding/base64"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/export"
	"github.com/busgen/busgen/internal/format"
)

// evidence is what the examples of a document have that its schemas allow, but a catalogue that was made of the schemas
// alone would lose or refuse: properties that an open object does not name, and texts that are not in the format, which
// JSON Schema takes for a comment. An import that finds evidence is done once more, with it. A schema is known by where
// it is written.
type evidence struct {
	of   map[diag.Position]*shown
	all  []contradiction // in the order in which they were found
	none bool            // some have null for a property that may be absent
	left int             // values that may still be looked at
}

// shown is what examples show of the values of one schema.
type shown struct {
	loose  bool     // they do not keep to the format
	none   *node    // the null that they have for a property that may be absent
	absent bool     // they do not have it at all
	large  bool     // numbers have more digits than there is room for
	other  bool     // they are of another kind than the keywords of the schema are about
	extra  []member // properties that the schema does not have, with a value
}

// A contradiction is a finding about an example.
type contradiction struct {
	at   diag.Place
	text string
}

// An observer compares examples with schemas.
type observer struct {
	*findingList
	*schemaReader
	seen  *evidence // what examples show
	known bool      // it is known already, from the first time that the document was imported
}

func newObserver(schemas *schemaReader, seen *evidence, known bool) *observer {
	return &observer{schemas.findingList, schemas, seen, known}
}

// maxExtra is how many properties an example may add to one schema.
const maxExtra = 200

// any tells whether examples show anything.
func (e *evidence) any() bool { return len(e.all) > 0 || e.none }

func newEvidence(left int) *evidence { return &evidence{of: map[diag.Position]*shown{}, left: left} }

// shownOf is what examples show of a schema. What it returns is not to be changed.
func (ob *observer) shownOf(s *node) *shown {
	if of := ob.seen.of[s.place.Pos]; ob.known && of != nil {
		return of
	}
	return &shown{}
}

// observe compares an example with a schema.
func (ob *observer) observe(s, v *node) {
	if ob.known {
		return
	}
	if ob.seen.left--; ob.seen.left < 0 {
		return
	}
	u := ob.look(s)
	n := u.schema
	if !n.is(object) {
		return
	}
	kinds := kindsOf(n)
	variants, _ := ob.findVariants(n)
	switch values, _ := listed(n); {
	case values != nil:
	case variants != nil:
		ob.observeVariant(v, variants)
	case len(kinds) != 1:
	case n.get("type") == nil && !v.is(null) && kindName(v) != kinds[0] && kindName(v) != "" && !(kinds[0] == "number" && kindName(v) == "integer"):
		ob.contradict(n, v, "of another type than the keywords of its schema are about; the field takes any JSON", func(of *shown) *bool { return &of.other })
	case kinds[0] == "number" && v.is(number) && !exact(v.text):
		ob.contradict(n, v, v.text+", which a float64 rounds; the field takes any JSON", func(of *shown) *bool { return &of.large })
	case kinds[0] == "object" && v.is(object):
		ob.observeObject(u, v)
	case kinds[0] == "array" && v.is(list) && itemsOf(n).is(object):
		for _, item := range v.items {
			ob.observe(itemsOf(n), item)
		}
	case kinds[0] == "string" && v.is(text):
		if why := unlike(n, v.text); why != "" {
			ob.contradict(n, v, why+"; the field takes any string", func(of *shown) *bool { return &of.loose })
		}
	case kinds[0] == "integer" && v.is(number):
		_, err := strconv.ParseInt(v.text, 10, 64)
		_, unsigned := strconv.ParseUint(v.text, 10, 64)
		if err != nil && (unsigned != nil || n.str("format") != "uint64" && !beyondInt64(n)) {
			ob.contradict(n, v, v.text+", for which an int64 has no room; the field takes any JSON", func(of *shown) *bool { return &of.large })
		}
	}
}

// kindName is the type of JSON Schema that a value has.
func kindName(v *node) string {
	switch v.kind {
	case object:
		return "object"
	case list:
		return "array"
	case text:
		return "string"
	case boolean:
		return "boolean"
	case number:
		if v.isWhole() {
			return "integer"
		}
		return "number"
	}
	return ""
}

// exact tells whether a float64 keeps all digits of a number.
func exact(text string) bool {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return false
	}
	written, ok := new(big.Rat).SetString(strconv.FormatFloat(f, 'g', -1, 64))
	want, ok2 := (&node{kind: number, text: text}).rational()
	return !ok || !ok2 || written.Cmp(want) == 0
}

// shows returns what is known of a schema, to be changed.
func (e *evidence) shows(s *node) *shown {
	of := e.of[s.place.Pos]
	if of == nil {
		of = &shown{}
		e.of[s.place.Pos] = of
	}
	return of
}

// contradict remembers what an example shows, once for each schema.
func (ob *observer) contradict(s, v *node, what string, flag func(*shown) *bool) {
	if set := flag(ob.seen.shows(s)); !*set {
		*set = true
		ob.seen.all = append(ob.seen.all, contradiction{v.place, "the example is " + what})
	}
}

func (ob *observer) observeVariant(v *node, variants *variants) {
	tag := v.get(variants.key)
	for _, one := range variants.all {
		if tag.is(text) && one.tag == tag.text {
			ob.observeFields(one.struc, v, variants.key)
		}
	}
}

func (ob *observer) observeObject(u use, v *node) {
	s := u.schema
	if !onlySays(s, "type") && isStruct(u) {
		ob.observeFields(u, v, "")
		return
	}
	if rest, _ := valuesOfMap(s); rest.is(object) {
		for _, m := range v.members {
			ob.observe(rest, m.value)
		}
	}
}

// observePayload compares examples with the payload of an event.
func (ob *observer) observePayload(u use, examples []*node) {
	for _, e := range examples {
		if !ob.known && e.is(object) && u.schema.is(object) {
			ob.observeFields(u, e, "")
		}
	}
}

// observeFields compares an object with a struct, which has one more property.
func (ob *observer) observeFields(u use, v *node, besides string) {
	s := u.schema
	rest := s.get("additionalProperties")
	closed := rest.is(boolean) && rest.text == "false"
	for _, p := range s.get("properties").properties() {
		if v.get(p.name) == nil {
			ob.seen.shows(p.value).absent = true
		}
	}
	for _, m := range v.members {
		p := s.get("properties").get(m.name)
		switch {
		case p != nil && m.value.is(null):
			ob.seen.shows(p).none, ob.seen.none = m.value, true
		case p != nil:
			ob.observe(p, m.value)
		case m.name == besides, closed && !matchesAny(s.get("patternProperties"), m.name):
		default:
			ob.observeExtra(s, m)
		}
	}
}

// matchesAny tells whether a name is one of those that patternProperties allow; it may be if nobody can tell.
func matchesAny(patterns *node, name string) bool {
	return slices.ContainsFunc(patterns.properties(), func(p member) bool {
		pattern, err := regexp.Compile(p.name)
		return err != nil || pattern.MatchString(name)
	})
}

func (ob *observer) observeExtra(s *node, m member) {
	of := ob.seen.shows(s)
	if len(of.extra) >= maxExtra || slices.ContainsFunc(of.extra, func(other member) bool { return other.name == m.name }) {
		return
	}
	of.extra = append(of.extra, m)
	ob.seen.all = append(ob.seen.all, contradiction{m.at, "the example has " + quoted(m.name) + ", which the schema does not name; it becomes an optional field of any JSON"})
}

// unlike says what is wrong with a text for the type that textType makes of a schema, or that it would not come back as
// it is; empty if nothing is.
func unlike(s *node, value string) string {
	kind, formatName := textKind(s)
	quotedValue := quoted(value)
	switch kind {
	case "bytes":
		if decoded, err := base64.StdEncoding.DecodeString(value); err != nil || base64.StdEncoding.EncodeToString(decoded) != value {
			return quotedValue + ", which is not base64 with padding"
		}
	case "uuid":
		if id, err := uuid.Parse(value); err != nil || id.String() != value {
			return quotedValue + ", which is not a UUID in small letters"
		}
	case "time":
		if t, err := time.Parse(time.RFC3339Nano, value); err != nil || t.Format(time.RFC3339Nano) != value {
			return quotedValue + ", which is not RFC 3339 as Go writes it"
		}
	case "date":
		if _, err := time.Parse(time.DateOnly, value); err != nil {
			return quotedValue + ", which is not a date"
		}
	case "decimal":
		if !format.IsDecimal(value) {
			return quotedValue + ", which is not a decimal"
		}
	case "duration":
		if d, err := time.ParseDuration(value); err != nil || d.String() != value {
			return quotedValue + ", which is not a duration as Go writes it"
		}
	default:
		if slices.Contains(format.Names(), formatName) {
			if _, ok := format.Check(formatName, value); !ok {
				return quotedValue + ", which is not in the format " + formatName
			}
		}
	}
	return ""
}

// textKind is the type that textType makes of a schema, with what is left of its format.
func textKind(s *node) (kind, formatName string) {
	formatName = s.str("format")
	switch pattern := s.str("pattern"); {
	case s.str("contentEncoding") == "base64" || textFormats[formatName] == "bytes":
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

// withNull makes a field of which examples have null although it is optional one that keeps null, which would be absent
// otherwise: any JSON, or one that is nullable and always there, if all of them have it.
func (tm *typeMaker) withNull(p member, t typing, required bool, at spot) (typing, bool) {
	of := tm.shownOf(p.value)
	switch {
	case of.none == nil, required, !t.use.nullable, t.text == "json":
		return t, required
	case of.absent:
		tm.keepType(p.value, at)
		tm.report(of.none.place, rules.ImportExample, "the example has null for %s, which others do not have at all; it takes any JSON", quoted(p.name)).
			Hint = "give the field the type of its other values if null means the same as nothing"
		return typing{text: "json", use: t.use}, false
	}
	tm.report(of.none.place, rules.ImportExample, "the example has null for %s, which is optional; it is nullable instead, and always in the JSON", quoted(p.name))
	return t, true
}

// reportEvidence reports what examples have shown.
func (ob *observer) reportEvidence() {
	for _, c := range ob.seen.all {
		ob.report(c.at, rules.ImportExample, "%s", c.text)
	}
}

// loosened is the schema of a text that is in no format.
func loosened(s *node) *node { return s.without("format", "contentEncoding", "contentMediaType") }
