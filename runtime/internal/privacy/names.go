package privacy

import (
	"encoding/json"
	"slices"
	"strings"
)

// Names reports whether a payload of a version is about the person: whether a personal field, or the partition key,
// is one of its values. With a path, such as customer.email, the field at that path is asked instead, whatever is
// said of it. Items of lists and values of maps are asked with their field.
func (s *Shape) Names(version int, payload []byte, p Person, path string) bool {
	if !json.Valid(payload) {
		return false
	}
	if path != "" {
		return at(payload, strings.Split(path, "."), p)
	}
	if s == nil || s.unknown {
		return false
	}
	return s.names(s.of(version), payload, p, s.partition)
}

func (s *Shape) names(t *structure, value json.RawMessage, p Person, key string) bool {
	if t.custom != nil || t.enum != nil {
		return false
	}
	all, discriminator := members(value), t.discriminator
	if t.variants != nil {
		if t = t.chosen(all); t == nil {
			return false
		}
	}
	return slices.ContainsFunc(all, func(m member) bool {
		f := t.byKey[m.key]
		switch {
		case f == nil: // of another version, which may have called it personal
			return s.Personal() && (discriminator == "" || m.key != discriminator) && p.are(m.value)
		case f.personal, f.name == key:
			return p.are(m.value)
		}
		return s.inside(f.of, m.value, p)
	})
}

func (s *Shape) inside(t *ref, value json.RawMessage, p Person) bool {
	inside := func(t *ref) func(json.RawMessage) bool {
		return func(one json.RawMessage) bool { return s.inside(t, one, p) }
	}
	switch {
	case t.named != nil:
		return s.names(t.named, value, p, "")
	case t.list != nil:
		return slices.ContainsFunc(items(value), inside(t.list))
	case t.entries != nil:
		return slices.ContainsFunc(members(value), func(m member) bool { return s.inside(t.entries, m.value, p) })
	}
	return false
}

// are reports whether a string or a number in a value is one of the person's.
func (p Person) are(value json.RawMessage) bool {
	found := false
	leaves(value, true, func(leaf string) { found = found || slices.Contains(p, leaf) })
	return found
}

// at asks the field at a path, by the keys of the JSON.
func at(value json.RawMessage, path []string, p Person) bool {
	if len(path) == 0 {
		return p.are(value)
	}
	if what(value) == "a list" {
		return slices.ContainsFunc(items(value), func(one json.RawMessage) bool { return at(one, path, p) })
	}
	return slices.ContainsFunc(members(value), func(m member) bool {
		return m.key == path[0] && at(m.value, path[1:], p)
	})
}

// KeyOnly reports whether nothing but the partition key can tell that a payload is about a person, and whether it is
// one of the values: the catalogue calls no field of the type personal.
func (s *Shape) KeyOnly(version int, payload []byte, p Person) bool {
	return s != nil && !s.unknown && !s.Personal() && json.Valid(payload) && s.names(s.of(version), payload, p, s.partition)
}

// Mentioned reports whether a payload has the person in it, as a word in a text or as a number.
func (p Person) Mentioned(payload []byte) bool {
	if len(p) == 0 {
		return false
	}
	if !json.Valid(payload) {
		return p.In(string(payload))
	}
	found := false
	leaves(payload, true, func(leaf string) { found = found || p.In(leaf) })
	return found
}
