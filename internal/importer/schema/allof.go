package schema

import (
	"slices"

	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/export"
	"github.com/busgen/busgen/internal/importer/findings"
	"github.com/busgen/busgen/internal/importer/tree"
)

// flattened makes one schema of a schema and its allOf. Parts that hold only for some values
// are kept apart, in sometimes.
func (sr *Reader) flattened(s *tree.Node) *tree.Node {
	if f := sr.flat[s]; f != nil {
		return f
	}
	f := s.Without("allOf", "if", "then", "else")
	f.Sometimes = append(slices.Clone(s.Sometimes), IfOf(s)...)
	sr.flat[s] = f
	var own Use
	own.annotate(f)
	some, all := own.Nullable, own.Nullable || !saysType(f) // may be null
	for _, part := range s.Get("allOf").Items {
		u := sr.Follow(part)
		sr.Absorb(u.Def)
		if u.Schema.Is(tree.Object) && u.Schema != f {
			some, all = some || u.Nullable, all && (u.Nullable || !saysType(u.Schema))
			sr.merge(f, u.Schema)
		}
	}
	if some && all {
		f.Add("nullable", s.Place, tree.NewBoolean(s.Place, true))
	}
	return f
}

// saysType tells whether a schema itself says of which type values are.
func saysType(s *tree.Node) bool { return s.Get("type") != nil || ValuesIn(s) != nil }

// IfOf is the condition of a schema as one of its own, if there is one.
func IfOf(s *tree.Node) []*tree.Node {
	if s.Get("if") == nil {
		return nil
	}
	own := tree.NewObject(s.At("if"))
	for _, m := range s.Members {
		if m.Name == "if" || m.Name == "then" || m.Name == "else" {
			own.Add(m.Name, m.At, m.Value)
		}
	}
	return []*tree.Node{own}
}

// merge adds the keywords of a part.
func (sr *Reader) merge(to, part *tree.Node) {
	to.Sometimes = append(to.Sometimes, part.Sometimes...)
	to.Sometimes = append(to.Sometimes, IfOf(part)...)
	for _, m := range part.Members {
		have := to.Get(m.Name)
		switch {
		case slices.Contains(SayingKeywords, m.Name) && m.Name != "description", m.Name == "discriminator":
		case m.Name == "if", m.Name == "then", m.Name == "else":
		case m.Name == "enum", m.Name == "const":
			sr.mergeValues(to, m)
		case have == nil:
			to.Add(m.Name, m.At, m.Value)
		case m.Name == "description", tree.Same(have, m.Value):
		case m.Name == "properties" && have.Is(tree.Object):
			to.Set(m.Name, mergedProperties(have, m.Value))
		case m.Name == "required" && have.Is(tree.List):
			both := *have
			both.Items = slices.Concat(have.Items, m.Value.Items)
			to.Set(m.Name, &both)
		case slices.Contains(conditional, m.Name):
			to.Sometimes = append(to.Sometimes, tree.NewObject(m.At).Add(m.Name, m.At, m.Value))
		case m.Name == "pattern" && m.Value.Text == export.URLPattern && to.Str("format") == "uri":
			to.Set("format", tree.NewText(m.At, "url")) // with a pattern of its own
		case m.Name == "type":
			sr.mergeTypes(to, have, m)
		case slices.Contains(leasts, m.Name), slices.Contains(mosts, m.Name):
			sr.mergeLimits(to, have, m)
		case KeywordHints[m.Name] != "": // leftovers reports it
		default:
			sr.differ(m)
		}
	}
}

func (sr *Reader) differ(m tree.Member) {
	sr.Report(m.At, rules.ImportKeyword, "parts of allOf have different %s; the first one counts", findings.Quote(m.Name))
}

// mergedProperties are the properties of two parts. For one that both have, both count; null alone,
// which a catalogue has no type for, does not.
func mergedProperties(a, b *tree.Node) *tree.Node {
	both := *a
	both.Members = slices.Clone(a.Members)
	for _, m := range b.Members {
		switch have := both.Get(m.Name); {
		case have == nil:
			both.Add(m.Name, m.At, m.Value)
		case isNull(have):
			both.Set(m.Name, m.Value)
		case !tree.Same(have, m.Value) && !isNull(m.Value):
			parts := tree.NewList(m.At, have, m.Value)
			both.Set(m.Name, tree.NewObject(have.Place).Add("allOf", m.At, parts))
		}
	}
	return &both
}

// mergeValues leaves the values that both parts list.
func (sr *Reader) mergeValues(to *tree.Node, m tree.Member) {
	have, theirs := ValuesIn(to), m.Value.Items
	if m.Name == "const" {
		theirs = []*tree.Node{m.Value}
	}
	if have == nil {
		to.Add(m.Name, m.At, m.Value)
		return
	}
	both := slices.DeleteFunc(slices.Clone(have), func(v *tree.Node) bool {
		return !slices.ContainsFunc(theirs, func(other *tree.Node) bool { return tree.Same(v, other) })
	})
	if len(both) == 0 {
		sr.differ(m)
		return
	}
	to.Members = to.Without("enum", "const").Add("enum", m.At, tree.NewList(m.Value.Place, both...)).Members
}

// mergeTypes leaves the types that both parts allow.
func (sr *Reader) mergeTypes(to, have *tree.Node, m tree.Member) {
	var both []*tree.Node
	for _, a := range typesIn(have) {
		for _, b := range typesIn(m.Value) {
			switch {
			case a.Text == b.Text, a.Text == "integer" && b.Text == "number":
				both = append(both, a)
			case a.Text == "number" && b.Text == "integer":
				both = append(both, b)
			}
		}
	}
	switch len(both) {
	case 0:
		sr.differ(m)
	case 1:
		to.Set("type", both[0])
	default:
		to.Set("type", tree.NewList(m.Value.Place, both...))
	}
}

func typesIn(n *tree.Node) []*tree.Node {
	if n.Is(tree.List) {
		return n.Items
	}
	return []*tree.Node{n}
}

// mergeLimits leaves the limit that allows less.
func (sr *Reader) mergeLimits(to, have *tree.Node, m tree.Member) {
	a, ok := have.Rational()
	b, alsoOK := m.Value.Rational()
	if !ok || !alsoOK {
		sr.differ(m)
		return
	}
	if tighter := b.Cmp(a); tighter > 0 && slices.Contains(leasts, m.Name) ||
		tighter < 0 && slices.Contains(mosts, m.Name) {
		to.Set(m.Name, m.Value)
	}
}

// commonType makes one schema of alternatives whose values are all of the same JSON type, or of
// integers and numbers; nil for others. Objects are none of these: they may be a union.
func (sr *Reader) commonType(s *tree.Node) *Use {
	if known, ok := sr.commons[s]; ok {
		return known
	}
	sr.commons[s] = nil // to those that s contains
	key := "anyOf"
	if s.Get(key) == nil {
		key = "oneOf"
	}
	branches := s.Get(key).Elements()
	if values, _ := Listed(s); values != nil || len(branches) < 2 || IsEither(s, "ipv4", "ipv6") {
		return nil
	}
	kind := s.Str("type")
	nullable, allListed := false, true
	var values, items []*tree.Node
	for _, b := range branches {
		u := sr.Look(b)
		if !u.Schema.Is(tree.Object) || len(u.Schema.Sometimes) > 0 {
			return nil
		}
		kinds := KindsOf(u.Schema)
		switch {
		case len(kinds) != 1 || kinds[0] == "object":
			return nil
		case kind == "", kind == "integer" && kinds[0] == "number":
			kind = kinds[0]
		case kind != kinds[0] && !(kind == "number" && kinds[0] == "integer"):
			return nil
		}
		nullable = nullable || u.Nullable
		allListed = allListed && len(ValuesIn(u.Schema)) > 0
		values = append(values, ValuesIn(u.Schema)...)
		items = append(items, ItemsOf(u.Schema))
	}
	common := s.Without(key, "type")
	common.Add("type", s.At(key), tree.NewText(s.Place, kind))
	switch {
	case allListed:
		common.Add("enum", s.At(key), tree.NewList(s.Place, values...))
	default:
		if kind == "array" && !slices.Contains(items, nil) {
			either := tree.NewObject(s.Place).Add("anyOf", s.At(key), tree.NewList(s.Place, items...))
			common.Add("items", s.At(key), either)
		}
		sr.Report(s.At(key), rules.ImportKeyword,
			"the alternatives of %s are of one type, %s, with different constraints, which are left out", key, kind).
			Hint = CheckWherePublished
	}
	sr.commons[s] = &Use{Schema: common, Nullable: nullable}
	return sr.commons[s]
}
