package types

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse/files"
	"github.com/busgen/busgen/internal/catalog/parse/text"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

// maxNesting limits how deep types are nested, far beyond what people can read.
const maxNesting = 16

// otherWords maps names of types in other languages to ours, where the spelling is not close.
var otherWords = map[string]string{
	"integer": "int", "long": "int64", "uint": "uint64", "float": "float64", "double": "float64", "number": "float64",
	"boolean": "bool", "text": "string", "str": "string", "varchar": "string", "binary": "bytes", "blob": "bytes",
	"datetime": "time", "timestamp": "time", "guid": "uuid", "any": "json", "object": "json",
}

// TypeRef reads the text of a type: a name, []T or map[string]T, and `?` or `|null` at the end. If there is a struct
// in place, the text must name it. It returns nil after a finding.
func (r *Types) TypeRef(n *yaml.Node, what string, inline *catalog.Type) *catalog.TypeRef {
	text, ok := r.Text(n, "the type of "+what)
	if !ok {
		return nil
	}
	inner, mark := catalog.CutMark(text.V)
	if i := strings.IndexAny(inner, "?|"); i >= 0 {
		r.misplacedMark(n, inner[i:], mark, what)
		return nil
	}
	if strings.Count(inner, "[") > maxNesting {
		r.Report(r.Place(n), rules.BadType, "the type of %s is nested more than %d deep", what, maxNesting).
			Hint = "declare a type for a part of it"
		return nil
	}
	if inline != nil && !strings.HasSuffix(inner, catalog.InPlace) {
		r.Report(r.Place(n), rules.Conflict, "%s has fields, but its type does not end in {}", what).
			Hint = "write {} for the struct with these fields, as in \"[]{}\", or remove the type or the fields"
		return nil
	}
	t := r.typeExpr(n, inner, 0, what, inline)
	if t == nil {
		return nil
	}
	t.Optional, t.Nullable, t.Text = mark == catalog.OptionalMark, mark == catalog.NullMark, text.V
	if t.Nullable && t.Kind == catalog.JSON {
		r.Report(r.Place(n), rules.BadType, "the type of %s is %s, but json can be null without it", what, text.V).Hint = "write json"
		return nil
	}
	return t
}

// misplacedMark reports a ? or | in the text of a type. from is what follows there, without the mark at the end.
func (r *Types) misplacedMark(n *yaml.Node, from, mark, what string) {
	at := r.PlaceIn(n, len(n.Value)-len(mark)-len(from), 1)
	squeezed, _ := catalog.CutMark(strings.ReplaceAll(n.Value, " ", ""))
	switch {
	case from == catalog.OptionalMark && mark == catalog.NullMark,
		from == catalog.NullMark && mark == catalog.OptionalMark:
		r.Report(at, rules.BadType, "the type of %s has both ? and |null", what).
			Hint = "write ? if the field is absent when it has no value, and |null if it is null then; a ? field also takes null, and writes it as absent"
	case from[0] == '?':
		r.Report(at, rules.BadType, "the type of %s has a ? that is not at its end", what).
			Hint = "a ? at the end makes the whole field optional; elements of lists and maps are always there"
	default:
		f := r.Report(at, rules.BadType, "the type of %s has a | that is not that of |null at its end", what)
		f.Hint = "|null at the end makes the whole field nullable; items that can be null have type json, and other alternatives are a union: declare a type with one_of"
		if rest, found := strings.CutPrefix(squeezed, "null|"); found {
			squeezed = rest
		}
		if squeezed != "" && !strings.ContainsAny(squeezed, "?|") {
			f.Hint = "write " + squeezed + catalog.NullMark
		}
	}
}

// typeExpr reads expr, which begins at offset in n.
func (r *Types) typeExpr(n *yaml.Node, expr string, offset int, what string, inline *catalog.Type) *catalog.TypeRef {
	t := &catalog.TypeRef{Text: expr, Pos: r.PlaceIn(n, offset, len(expr)).Pos}
	if kind, elem, ok := catalog.CutElem(expr); ok {
		t.Kind = kind
		t.Elem = r.typeExpr(n, elem, offset+len(expr)-len(elem), what, inline)
		if t.Elem == nil {
			return nil
		}
		return t
	}
	if t.Kind = catalog.Scalars[expr]; t.Kind != 0 {
		t.Go = r.goTypes[t.Kind]
		return t
	}
	if expr == catalog.InPlace && inline != nil {
		t.Kind, t.Named = catalog.Named, inline
		return t
	}
	if t.Named = r.ByName[expr]; t.Named != nil {
		t.Kind = catalog.Named
		r.later = append(r.later, t.Settle)
		return t
	}
	at := r.PlaceIn(n, offset, len(expr))
	if files.IsImportedName(expr) {
		if t.Kind, t.Named = catalog.Named, r.imports.ImportedType(at, expr, what); t.Named != nil {
			r.later = append(r.later, t.Settle)
			return t
		}
		return nil
	}
	if !text.IsWord(expr) {
		r.Report(at, rules.BadType, "the type of %s is %q, which is not a type", what, n.Value).Hint = notationHint(expr)
		return nil
	}
	if r.parts.Incomplete {
		return nil // it may be declared in a file that could not be read
	}
	r.Report(at, rules.UnknownType, "unknown type %q in %s", expr, what).Hint = r.typeHint(expr)
	return nil
}

func notationHint(expr string) string {
	switch elem, isArray := strings.CutSuffix(expr, "[]"); {
	case expr == catalog.InPlace:
		return "{} stands for a struct whose fields are written beside the type"
	case isArray && text.IsWord(elem):
		return "a list is written in front: \"[]" + elem + "\""
	case strings.HasPrefix(expr, "*") && text.IsWord(expr[1:]):
		return "an optional field is written \"" + expr[1:] + "?\""
	case strings.HasPrefix(expr, "map["):
		return "the keys of a map are always strings: map[string]T"
	}
	return "write a name, []T or map[string]T"
}

func (r *Types) typeHint(text string) string {
	if word := otherWords[strings.ToLower(text)]; word != "" {
		return "did you mean \"" + word + "\"?"
	}
	var known []string
	if known := r.imports.Declaring(text); known != nil {
		return "did you mean \"" + known[0] + "." + text + "\"?"
	}
	if !r.MayGuess() {
		return declareType
	}
	for name := range catalog.Scalars {
		known = append(known, name)
	}
	for name := range r.ByName {
		known = append(known, name)
	}
	slices.Sort(known) // so that ties are resolved the same way every time
	if hint := diag.DidYouMean(text, known); hint != "" {
		return hint
	}
	return declareType
}

const declareType = "declare it under types, or use a built-in type"
