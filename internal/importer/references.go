package importer

import (
	"slices"
	"strconv"

	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/export"
)

// A use is a schema somewhere in the document, followed to the one that says what
// values there are.
type use struct {
	schema   *node // that one
	def      *node // the definition that it is, or is a part of; nil for a schema in place
	name     string
	nullable bool

	// What is said on the way; what is nearest to the place of use counts.
	title, description *node
	deprecated         *node
	sensitive          *node
	personal           *node
	fallback           *node // the default
	examples           []*node
}

// A schemaReader says what the schemas of the documents say, however they say it: by references, in parts, under
// conditions. What it makes of a schema on the way it makes once.
type schemaReader struct {
	*findingList
	*fileSet
	max, visited int // schemas

	flat        map[*node]*node // what flattened has made
	derived     map[*node]*node // what derivedFrom has made
	commons     map[*node]*use  // what commonType has made
	settlements map[*node]*node // what settled has made
	absorbed    map[*node]bool  // definitions of which something else was made than a type
	parts       map[*node]bool  // what references lead to that is only a part of a definition
}

func newSchemaReader(files *fileSet, max int) *schemaReader {
	return &schemaReader{
		findingList: files.findingList, fileSet: files, max: max,
		flat: map[*node]*node{}, derived: map[*node]*node{}, commons: map[*node]*use{}, settlements: map[*node]*node{},
		absorbed: map[*node]bool{}, parts: map[*node]bool{},
	}
}

// absorb says that something else than a type was made of schemas.
func (sr *schemaReader) absorb(schemas ...*node) {
	for _, s := range schemas {
		sr.absorbed[s] = true
	}
}

func (sr *schemaReader) isAbsorbed(s *node) bool { return s != nil && sr.absorbed[s] }

// isPart tells whether what a reference has led to is only a part of a definition.
func (sr *schemaReader) isPart(s *node) bool { return sr.parts[s] }

// visit counts a schema of which something is made, and returns how many more may be; a negative number says that this
// one is too many. A document can use the same part of itself again and again.
func (sr *schemaReader) visit() int {
	sr.visited++
	return sr.max - sr.visited
}

// maxReferences is how many references may be on the way.
const maxReferences = 50

// look follows references, alternatives to null, and what is put together of parts; what an
// object has only under some condition is optional then.
func (sr *schemaReader) look(s *node) use {
	u := sr.follow(s)
	u.schema = sr.settled(u.schema)
	return u
}

// follow is look, but for conditions.
func (sr *schemaReader) follow(s *node) use {
	u := use{schema: s}
	for range maxReferences {
		s := u.schema
		if !s.is(object) {
			return u
		}
		if isMultiFormat(s) {
			u.schema = s.get("schema")
			if format := s.str("schemaFormat"); !isJSONSchema(format) {
				sr.report(s.at("schemaFormat"), rules.ImportPayload, "the schema is written in %s; the field takes any JSON", quoted(format)).Hint = "only JSON Schema is read"
				u.schema = newObject(s.place)
			}
			continue
		}
		u.annotate(s)
		switch {
		case s.get("$ref") != nil:
			def, name := sr.resolve(s)
			switch {
			case def == nil:
				u.schema = sr.derivedFrom(s, func() *node { return s.without("$ref") }) // what stands beside it
			case !saysNoMore(s, "$ref", def):
				u.schema = sr.flattened(sr.derivedFrom(s, func() *node { return inParts(s) }))
			default:
				u.schema, u.def, u.name = def, def, name
			}
		case s.get("allOf").is(list):
			if parts := s.get("allOf").items; len(parts) == 1 && saysNoMore(s, "allOf", parts[0]) {
				u.schema = parts[0]
			} else {
				u.schema = sr.flattened(s)
			}
		default:
			key, rest := withoutNull(s)
			if key == "" {
				if common := sr.commonType(s); common != nil {
					u.schema, u.nullable = common.schema, u.nullable || common.nullable
				}
				return u
			}
			u.nullable = u.nullable || len(rest) < len(s.get(key).items)
			u.schema = sr.derivedFrom(s, func() *node { return alternatives(s, key, rest) })
		}
	}
	sr.report(s.place, rules.ImportReference, "the chain of references from here is longer than %d", maxReferences)
	return use{schema: newObject(s.place)}
}

// annotate takes from a schema what it says about values without saying which there are.
func (u *use) annotate(s *node) {
	take := func(to **node, name string, k kind) {
		if v := s.get(name); *to == nil && v.is(k) {
			*to = v
		}
	}
	take(&u.title, "title", text)
	take(&u.description, "description", text)
	if s.isTrue("deprecated") {
		take(&u.deprecated, "deprecated", boolean)
	}
	if s.isTrue(export.SensitiveKey) {
		take(&u.sensitive, export.SensitiveKey, boolean)
	}
	if s.isTrue(export.PersonalKey) {
		take(&u.personal, export.PersonalKey, boolean)
	}
	if u.fallback == nil {
		u.fallback = s.get("default")
	}
	if examples := s.get("examples"); examples.is(list) && u.examples == nil {
		u.examples = examples.items
	}
	if example := s.get("example"); example != nil && u.examples == nil {
		u.examples = []*node{example}
	}
	if types := s.get("type"); types.is(list) && slices.ContainsFunc(types.items, func(t *node) bool { return t.is(text) && t.text == "null" }) {
		u.nullable = true
	}
	if values := s.get("enum"); values.is(list) && slices.ContainsFunc(values.items, func(v *node) bool { return v.is(null) }) {
		u.nullable = true
	}
	if s.isTrue("nullable") || isNull(s) {
		u.nullable = true
	}
}

// sayingKeywords are those that do not say which values there are, or what belongs to the
// document as a whole.
var sayingKeywords = []string{
	"title", "description", "default", "deprecated", "examples", "example", "nullable", export.SensitiveKey, export.PersonalKey,
	"$schema", "$id", "id", "$anchor", "$comment", "$defs", "definitions", "$vocabulary",
}

// onlySays tells whether a schema says nothing about values besides with one keyword.
func onlySays(s *node, besides string) bool {
	return !slices.ContainsFunc(s.members, func(m member) bool { return m.name != besides && !slices.Contains(sayingKeywords, m.name) })
}

// saysNoMore tells whether a schema says nothing about values that what it refers to with a keyword does not say: it is
// that schema then, and not another one, which would be made again wherever it is used.
func saysNoMore(s *node, keyword string, to *node) bool {
	return !slices.ContainsFunc(s.members, func(m member) bool {
		switch {
		case m.name == keyword, slices.Contains(sayingKeywords, m.name), !isAssertion(m.name):
			return false
		case m.name == "type":
			return !m.value.is(text) || to.str("type") != m.value.text
		case m.name == "additionalProperties":
			return !(m.value.is(boolean) && m.value.text == "true" || m.value.is(object) && len(m.value.members) == 0)
		}
		return true
	})
}

// derivedFrom is what make makes of a schema on the way to what it says. It is made once: a schema that leads back to
// itself is found to be known then.
func (sr *schemaReader) derivedFrom(s *node, make func() *node) *node {
	if sr.derived[s] == nil {
		sr.derived[s] = make()
	}
	return sr.derived[s]
}

// inParts makes one part of a reference, and another of what is beside it.
func inParts(s *node) *node {
	reference := newObject(s.place)
	rest := newObject(s.place)
	for _, m := range s.members {
		if m.name == "$ref" {
			reference.add(m.name, m.at, m.value)
		} else {
			rest.add(m.name, m.at, m.value)
		}
	}
	parts := newList(s.place, reference)
	if inner := rest.get("allOf"); inner.is(list) {
		parts.items = append(parts.items, inner.items...)
	}
	return rest.without("allOf").add("allOf", s.place, parts)
}

// withoutNull finds alternatives of which one is null, and returns the others. An only
// alternative is found as well, unless it is a value of an enum or a variant.
func withoutNull(s *node) (key string, rest []*node) {
	for _, key := range []string{"anyOf", "oneOf"} {
		branches := s.get(key)
		if !branches.is(list) {
			continue
		}
		rest := slices.DeleteFunc(slices.Clone(branches.items), isNull)
		only := len(branches.items) == 1 && rest != nil && (key == "anyOf" || branches.items[0].get("const") == nil && s.get("properties") == nil)
		if only && s.get("discriminator") == nil || len(rest) > 0 && len(rest) < len(branches.items) {
			return key, rest
		}
	}
	return "", nil
}

func isNull(s *node) bool {
	return s.is(object) && (s.str("type") == "null" || s.get("const").is(null))
}

// alternatives is s with these alternatives left.
func alternatives(s *node, key string, rest []*node) *node {
	if len(rest) == 1 && onlySays(s, key) {
		return rest[0]
	}
	if len(rest) == 1 {
		key, s = "allOf", s.without(key)
	}
	changed := s.without(key)
	changed.add(key, s.at(key), newList(s.place, rest...))
	return changed
}

// resolve returns what a $ref refers to, or nil after a finding.
func (sr *schemaReader) resolve(s *node) (def *node, name string) {
	f := sr.lookUp(s.get("$ref"))
	switch {
	case f.schema.is(object), f.schema.is(boolean):
		sr.parts[f.schema] = f.part
		return f.schema, f.name
	case f.schema != nil:
		f.why = "which is not a schema"
	}
	sr.report(s.at("$ref"), rules.ImportReference, "$ref refers to %s, %s", quoted(s.str("$ref")), f.why).Hint = f.hint
	return nil, ""
}

// followed returns what a $ref leads to, or n if it is none; nil after a finding.
func (sr *schemaReader) followed(n *node) *node {
	n, _ = sr.led(n)
	return n
}

// led is followed, with the last word of the reference.
func (sr *schemaReader) led(n *node) (to *node, last string) {
	for range maxReferences {
		if !n.get("$ref").is(text) {
			return n, last
		}
		if n, last = sr.resolve(n); n == nil {
			break
		}
	}
	return nil, ""
}

// quoted shows a word of the document in a message.
func quoted(word string) string {
	if len(word) > 100 {
		word = word[:100] + "…"
	}
	return strconv.Quote(word)
}
