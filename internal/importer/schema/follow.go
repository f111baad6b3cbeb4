// Package schema says what a schema says, however it says it. A [Reader] owns what it has made of schemas on the way:
// follow.go has references and null, allof.go parts that all hold, conditions.go parts that hold sometimes, kinds.go
// the values, and variants.go what tells alternatives apart.
package schema

import (
	"slices"

	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/export"
	"github.com/busgen/busgen/internal/importer/files"
	"github.com/busgen/busgen/internal/importer/findings"
	"github.com/busgen/busgen/internal/importer/tree"
)

// A Use is a schema somewhere in the document, followed to the one that says what
// values there are.
type Use struct {
	Schema   *tree.Node // that one
	Def      *tree.Node // the definition that it is, or is a part of; nil for a schema in place
	Name     string
	Nullable bool

	// What is said on the way; what is nearest to the place of use counts.
	Title, Description *tree.Node
	Deprecated         *tree.Node
	Sensitive          *tree.Node
	Personal           *tree.Node
	Fallback           *tree.Node // the default
	Examples           []*tree.Node
}

// A Reader says what the schemas of the documents say, however they say it: by references, in parts, under
// conditions. It makes each derived schema once.
type Reader struct {
	*findings.List
	Files        *files.Set
	max, visited int // schemas

	flat        map[*tree.Node]*tree.Node // what flattened has made
	derived     map[*tree.Node]*tree.Node // what derivedFrom has made
	commons     map[*tree.Node]*Use       // what commonType has made
	settlements map[*tree.Node]*tree.Node // what settled has made
	absorbed    map[*tree.Node]bool       // definitions of which something else was made than a type
	parts       map[*tree.Node]bool       // what references lead to that is only a part of a definition
}

// New returns a reader of schemas in files, of which it may visit max.
func New(files *files.Set, max int) *Reader {
	return &Reader{
		List: files.List, Files: files, max: max,
		flat: map[*tree.Node]*tree.Node{}, derived: map[*tree.Node]*tree.Node{}, commons: map[*tree.Node]*Use{},
		settlements: map[*tree.Node]*tree.Node{}, absorbed: map[*tree.Node]bool{}, parts: map[*tree.Node]bool{},
	}
}

// Absorb says that something else than a type was made of schemas.
func (sr *Reader) Absorb(schemas ...*tree.Node) {
	for _, s := range schemas {
		sr.absorbed[s] = true
	}
}

func (sr *Reader) IsAbsorbed(s *tree.Node) bool { return s != nil && sr.absorbed[s] }

// IsPart tells whether what a reference has led to is only a part of a definition.
func (sr *Reader) IsPart(s *tree.Node) bool { return sr.parts[s] }

// Visit counts a schema of which something is made, and returns how many more may be; a negative number says that this
// one is too many. A document can use the same part of itself again and again.
func (sr *Reader) Visit() int {
	sr.visited++
	return sr.max - sr.visited
}

// maxReferences is how many references may be on the way.
const maxReferences = 50

// Look follows references, alternatives to null, and what is put together of parts; what an
// object has only under some condition is optional then.
func (sr *Reader) Look(s *tree.Node) Use {
	u := sr.Follow(s)
	u.Schema = sr.settled(u.Schema)
	return u
}

// Follow is look, but for conditions.
func (sr *Reader) Follow(s *tree.Node) Use {
	u := Use{Schema: s}
	for range maxReferences {
		s := u.Schema
		if !s.Is(tree.Object) {
			return u
		}
		if IsMultiFormat(s) {
			u.Schema = s.Get("schema")
			if format := s.Str("schemaFormat"); !IsJSONSchema(format) {
				sr.Report(s.At("schemaFormat"), rules.ImportPayload, "the schema is written in %s; the field takes any JSON",
					findings.Quote(format)).Hint = "only JSON Schema is read"
				u.Schema = tree.NewObject(s.Place)
			}
			continue
		}
		u.annotate(s)
		switch {
		case s.Get("$ref") != nil:
			def, name := sr.Resolve(s)
			switch {
			case def == nil:
				u.Schema = sr.derivedFrom(s, func() *tree.Node { return s.Without("$ref") }) // what stands beside it
			case !saysNoMore(s, "$ref", def):
				u.Schema = sr.flattened(sr.derivedFrom(s, func() *tree.Node { return inParts(s) }))
			default:
				u.Schema, u.Def, u.Name = def, def, name
			}
		case s.Get("allOf").Is(tree.List):
			if parts := s.Get("allOf").Items; len(parts) == 1 && saysNoMore(s, "allOf", parts[0]) {
				u.Schema = parts[0]
			} else {
				u.Schema = sr.flattened(s)
			}
		default:
			key, rest := withoutNull(s)
			if key == "" {
				if common := sr.commonType(s); common != nil {
					u.Schema, u.Nullable = common.Schema, u.Nullable || common.Nullable
				}
				return u
			}
			u.Nullable = u.Nullable || len(rest) < len(s.Get(key).Items)
			u.Schema = sr.derivedFrom(s, func() *tree.Node { return alternatives(s, key, rest) })
		}
	}
	sr.Report(s.Place, rules.ImportReference, "the chain of references from here is longer than %d", maxReferences)
	return Use{Schema: tree.NewObject(s.Place)}
}

// annotate takes from a schema what it says about values without saying which there are.
func (u *Use) annotate(s *tree.Node) {
	take := func(to **tree.Node, name string) {
		if v := s.Get(name); *to == nil && v.Is(tree.Text) {
			*to = v
		}
	}
	take(&u.Title, "title")
	take(&u.Description, "description")
	mark := func(to **tree.Node, name string) {
		if v := s.Get(name); *to == nil && v.IsTrue() {
			*to = v
		}
	}
	mark(&u.Deprecated, "deprecated")
	mark(&u.Sensitive, export.SensitiveKey)
	mark(&u.Personal, export.PersonalKey)
	if u.Fallback == nil {
		u.Fallback = s.Get("default")
	}
	if examples := s.Get("examples"); examples.Is(tree.List) && u.Examples == nil {
		u.Examples = examples.Items
	}
	if example := s.Get("example"); example != nil && u.Examples == nil {
		u.Examples = []*tree.Node{example}
	}
	isNullItself := func(v *tree.Node) bool { return v.Is(tree.Null) }
	u.Nullable = u.Nullable || s.Get("nullable").IsTrue() || isNull(s) || s.Get("type").Lists("null") ||
		slices.ContainsFunc(s.Get("enum").Elements(), isNullItself)
}

// saysNoMore tells whether a schema says nothing about values that what it refers to with a keyword does not say: it is
// that schema then, and not another one, which would be made again wherever it is used.
func saysNoMore(s *tree.Node, keyword string, to *tree.Node) bool {
	return !slices.ContainsFunc(s.Members, func(m tree.Member) bool {
		switch {
		case m.Name == keyword, slices.Contains(SayingKeywords, m.Name), !IsAssertion(m.Name):
			return false
		case m.Name == "type":
			return !m.Value.Is(tree.Text) || to.Str("type") != m.Value.Text
		case m.Name == "additionalProperties":
			return !(m.Value.IsTrue() || m.Value.Is(tree.Object) && len(m.Value.Members) == 0)
		}
		return true
	})
}

// derivedFrom is what make makes of a schema on the way to what it says. It is made once: a schema that leads back to
// itself is found to be known then.
func (sr *Reader) derivedFrom(s *tree.Node, make func() *tree.Node) *tree.Node {
	if sr.derived[s] == nil {
		sr.derived[s] = make()
	}
	return sr.derived[s]
}

// inParts makes one part of a reference, and another of what is beside it.
func inParts(s *tree.Node) *tree.Node {
	reference := tree.NewObject(s.Place).Add("$ref", s.At("$ref"), s.Get("$ref"))
	parts := append([]*tree.Node{reference}, s.Get("allOf").Elements()...)
	return s.Without("$ref", "allOf").Add("allOf", s.Place, tree.NewList(s.Place, parts...))
}

// withoutNull finds alternatives of which one is null, and returns the others. An only
// alternative is found as well, unless it is a value of an enum or a variant.
func withoutNull(s *tree.Node) (key string, rest []*tree.Node) {
	for _, key := range []string{"anyOf", "oneOf"} {
		branches := s.Get(key)
		if !branches.Is(tree.List) {
			continue
		}
		rest := slices.DeleteFunc(slices.Clone(branches.Items), isNull)
		only := len(branches.Items) == 1 && rest != nil &&
			(key == "anyOf" || branches.Items[0].Get("const") == nil && s.Get("properties") == nil)
		if only && s.Get("discriminator") == nil || len(rest) > 0 && len(rest) < len(branches.Items) {
			return key, rest
		}
	}
	return "", nil
}

func isNull(s *tree.Node) bool {
	return s.Is(tree.Object) && (s.Str("type") == "null" || s.Get("const").Is(tree.Null))
}

// alternatives is s with these alternatives left.
func alternatives(s *tree.Node, key string, rest []*tree.Node) *tree.Node {
	if len(rest) == 1 && OnlySays(s, key) {
		return rest[0]
	}
	if len(rest) == 1 {
		key, s = "allOf", s.Without(key)
	}
	return s.Without(key).Add(key, s.At(key), tree.NewList(s.Place, rest...))
}

// Resolve returns what a $ref refers to, or nil after a finding.
func (sr *Reader) Resolve(s *tree.Node) (def *tree.Node, name string) {
	f := sr.Files.LookUp(s.Get("$ref"))
	switch {
	case f.Schema.Is(tree.Object), f.Schema.Is(tree.Boolean):
		sr.parts[f.Schema] = f.Part
		return f.Schema, f.Name
	case f.Schema != nil:
		f.Why = "which is not a schema"
	}
	sr.Report(s.At("$ref"), rules.ImportReference, "$ref refers to %s, %s", findings.Quote(s.Str("$ref")), f.Why).
		Hint = f.Hint
	return nil, ""
}

// Followed returns what a $ref leads to, or n if it is none; nil after a finding.
func (sr *Reader) Followed(n *tree.Node) *tree.Node {
	n, _ = sr.Led(n)
	return n
}

// Led is followed, with the last word of the reference.
func (sr *Reader) Led(n *tree.Node) (to *tree.Node, last string) {
	for range maxReferences {
		if !n.Get("$ref").Is(tree.Text) {
			return n, last
		}
		if n, last = sr.Resolve(n); n == nil {
			break
		}
	}
	return nil, ""
}
