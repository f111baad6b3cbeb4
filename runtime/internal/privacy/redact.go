package privacy

import (
	"encoding/json"
	"slices"
	"strings"
)

// Erased stands for a text that was erased.
const Erased = "[erased]"

// neutrals are what stands for an erased value that a payload must have, by its type. Every reader decodes them.
var neutrals = map[string]string{
	"string": `"` + Erased + `"`, "bool": "false", "int": "0", "int32": "0", "int64": "0", "uint64": "0", "float64": "0", "bytes": `""`,
	"time": `"1970-01-01T00:00:00Z"`, "date": `"1970-01-01"`, "duration": `"0s"`, "uuid": `"00000000-0000-0000-0000-000000000000"`,
	"decimal": `"0"`, "json": "null",
}

// Redact returns a payload of a version without what is personal: an optional field is gone, a nullable one is
// null, and another has a value that means nothing. Texts in which the person is named are erased in other fields too. Of a type without
// personal fields, or with whole, nothing is left but such values. Without a schema, the payload is {}.
func (s *Shape) Redact(version int, payload []byte, p Person, whole bool) json.RawMessage {
	if s == nil || s.unknown || !json.Valid(payload) {
		return json.RawMessage("{}")
	}
	r := redaction{person: p}
	if whole || !s.Personal() {
		return neutral(&ref{named: s.of(version)}, payload)
	}
	return r.structure(s.of(version), payload)
}

type redaction struct{ person Person }

func (r redaction) structure(s *structure, value json.RawMessage) json.RawMessage {
	switch {
	case what(value) == "null" || s.enum != nil:
		return value
	case s.custom != nil:
		return r.value(s.custom, value)
	case what(value) != "an object":
		return neutral(&ref{named: s}, nil)
	}
	all := members(value)
	fields := s
	if s.variants != nil {
		if fields = s.chosen(all); fields == nil {
			return neutral(&ref{named: s}, value)
		}
	}
	var left []member
	for _, m := range all {
		switch f := fields.byKey[m.key]; {
		case f == nil:
			if s.variants == nil || m.key != s.discriminator {
				continue // no program reads it
			}
		case f.personal && f.of.optional:
			continue
		case f.personal:
			m.value = neutral(f.of, m.value)
		default:
			if m.value = r.value(f.of, m.value); m.value == nil {
				continue
			}
		}
		left = append(left, m)
	}
	return object(left)
}

// value redacts what is not personal by itself. Nil is an optional value that is gone.
func (r redaction) value(t *ref, value json.RawMessage) json.RawMessage {
	switch {
	case t.named != nil && t.named.enum == nil:
		return r.structure(t.named, value)
	case t.list != nil:
		return each(value, func(one json.RawMessage) json.RawMessage { return r.kept(t.list, one) })
	case t.entries != nil:
		all := members(value)
		all = slices.DeleteFunc(all, func(m member) bool { return r.person.In(m.key) })
		for i := range all {
			all[i].value = r.kept(t.entries, all[i].value)
		}
		if what(value) != "an object" {
			return value
		}
		return object(all)
	}
	named := false
	leaves(value, true, func(leaf string) { named = named || r.person.In(leaf) })
	switch {
	case named && t.optional:
		return nil
	case named:
		return neutral(t, value)
	}
	return value
}

func (r redaction) kept(t *ref, value json.RawMessage) json.RawMessage {
	if left := r.value(t, value); left != nil {
		return left
	}
	return json.RawMessage("null")
}

// neutral returns a value of a type that means nothing. Of a union it has the variant of the value.
func neutral(t *ref, value json.RawMessage) json.RawMessage {
	switch {
	case t.nullable:
		return json.RawMessage("null")
	case t.list != nil:
		return json.RawMessage("[]")
	case t.entries != nil:
		return json.RawMessage("{}")
	case t.scalar != "":
		return json.RawMessage(neutrals[t.scalar])
	}
	s := t.named
	switch {
	case s.enum != nil:
		return s.enum
	case s.custom != nil:
		return neutral(s.custom, nil)
	case s.variants == nil:
		return object(required(s, value))
	}
	one := s.smallest()
	for _, m := range members(value) {
		for _, other := range s.variants {
			if m.key == s.discriminator && what(m.value) == "a string" && unquote(m.value) == other.name {
				one = other
			}
		}
	}
	return object(append([]member{{s.discriminator, quote(one.name)}}, required(one.of, value)...))
}

// required returns the fields that a struct must have, with values that mean nothing.
func required(s *structure, value json.RawMessage) (all []member) {
	was := map[string]json.RawMessage{}
	for _, m := range members(value) {
		if f := s.byKey[m.key]; f != nil {
			was[f.name] = m.value
		}
	}
	for _, f := range s.fields {
		if !f.of.optional {
			all = append(all, member{f.name, neutral(f.of, was[f.name])})
		}
	}
	return all
}

// Person is the person to be erased: the values that name it, such as a customer's number or an e-mail address.
type Person []string

// In reports whether a text names the person: whether it has one of the values in it as a word of its own.
func (p Person) In(text string) bool {
	return slices.ContainsFunc(p, func(value string) bool { return word(text, value, 0, anywhere) >= 0 })
}

// Erase replaces the person in a text, also as Go and JSON quote it. It reports whether the text has changed. A part of
// an address stays, and so does an address that is a part of a longer one: these are another person's.
func (p Person) Erase(text string) (string, bool) { return p.replace(text, outsideAddresses) }

func (p Person) replace(text string, within boundary) (string, bool) {
	before := text
	for _, value := range p {
		within := within
		if strings.Contains(value, "@") {
			within = alone // its forms in URLs have no @
		}
		for _, form := range forms(value) {
			var b strings.Builder
			end := 0
			for at := word(text, form, 0, within); at >= 0; at = word(text, form, end, within) {
				b.WriteString(text[end:at])
				b.WriteString(Erased)
				end = at + len(form)
			}
			if end > 0 {
				b.WriteString(text[end:])
				text = b.String()
			}
		}
	}
	return text, text != before
}

// IsKey reports whether a key names the person. A value that is a part of a longer name, such as 4711 of order-4711,
// does not: a key of another person is never lost.
func (p Person) IsKey(key string) bool {
	_, is := p.replace(key, alone)
	return is
}

// IsPart reports whether a text has one of the values as a part of a longer name or address.
func (p Person) IsPart(text string) bool {
	return slices.ContainsFunc(p, func(value string) bool {
		return slices.ContainsFunc(forms(value), func(form string) bool { return word(text, form, 0, anywhere) >= 0 })
	})
}

// EraseValues is Erase for a JSON object, such as metadata, which stays one. Handlers read it, so that values which are
// a part of a longer name stay, as in keys.
func (p Person) EraseValues(text string) (string, bool) {
	if !json.Valid([]byte(text)) || what([]byte(text)) != "an object" {
		return p.Erase(text)
	}
	erase := func(text string) (string, bool) { return p.replace(text, alone) }
	all, changed := members([]byte(text)), false
	for i, m := range all {
		key, other := erase(m.key)
		all[i].key, changed = key, changed || other
		switch {
		case what(m.value) == "a string":
			if value, other := erase(unquote(trim(m.value))); other {
				all[i].value, changed = quote(value), true
			}
		case p.Mentioned(m.value):
			all[i].value, changed = quote(Erased), true
		}
	}
	if !changed {
		return text, false
	}
	return string(object(all)), true
}
