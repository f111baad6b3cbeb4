package types

import (
	"math"
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse/names"
	"github.com/busgen/busgen/internal/catalog/parse/text"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

// enumReader reads the values of one enum.
type enumReader struct {
	*text.Reader
	names   *names.Names
	t       *catalog.Type
	what    string // for messages: enum of type Currency
	values  []*catalog.EnumValue
	named   map[string]*yaml.Node // the keys of the values so far
	numbers map[int]*catalog.EnumValue
}

// enumValues reads a list of texts, or a mapping from texts to what is said of them.
func (r *Types) enumValues(n *yaml.Node, t *catalog.Type) []*catalog.EnumValue {
	e := &enumReader{Reader: r.Reader, names: r.names, t: t, what: "enum of type " + diag.Label(t.Name.V),
		named: map[string]*yaml.Node{}, numbers: map[int]*catalog.EnumValue{}}
	switch {
	case n.Kind != yaml.SequenceNode && n.Kind != yaml.MappingNode:
		r.WrongKind(n, e.what, "a list or a mapping")
	case len(n.Content) == 0:
		r.Report(r.Place(n), rules.Enum, "%s has no values", e.what).Hint = "list at least one"
	case n.Kind == yaml.SequenceNode:
		for _, item := range n.Content {
			if text, ok := r.Text(item, "a value of "+e.what); ok {
				e.value(text, item, e.names.GoName(text.V))
			}
		}
	default:
		e.detailed(n)
	}
	return e.values
}

// value adds a value whose text is at n, unless it is refused. The Go name is without that of the type.
func (e *enumReader) value(text catalog.Value[string], n *yaml.Node, goName string) *catalog.EnumValue {
	switch {
	case e.named[text.V] != nil:
		e.Report(e.Place(n), rules.Enum, "value %q is already in %s", text.V, e.what).
			See(e.Place(e.named[text.V]), "it is here")
		return nil
	case goName == "" || strings.ContainsFunc(text.V, func(c rune) bool { return !unicode.IsPrint(c) }):
		e.Report(e.Place(n), rules.Enum, "value %q of %s cannot be the name of a Go constant", text.V, e.what).
			Hint = "a value needs a letter or a digit and no control characters"
		return nil
	}
	e.named[text.V] = n
	v := &catalog.EnumValue{Name: text, GoName: e.t.GoName + goName, Doc: e.CommentAbove(n)}
	e.values = append(e.values, v)
	return v
}

// detailed reads the form of a mapping.
func (e *enumReader) detailed(n *yaml.Node) {
	entries, _ := e.Mapping(n, e.what)
	var numbered, others []*catalog.EnumValue
	for _, entry := range entries {
		switch v, hasNumber := e.details(entry); {
		case v == nil:
		case hasNumber:
			numbered = append(numbered, v)
		default:
			others = append(others, v)
		}
	}
	if e.t.Integer = numbered != nil; !e.t.Integer {
		return
	}
	for _, v := range others {
		e.Report(e.Place(e.named[v.Name.V]), rules.Enum, "value %s of %s has no number, and value %s has one",
			diag.Label(v.Name.V), e.what, diag.Label(numbered[0].Name.V)).
			See(e.Place(e.named[numbered[0].Name.V]), "it is here").
			Hint = "give a number to all values or to none"
	}
}

// details reads a value and what is said of it.
func (e *enumReader) details(from text.Entry) (v *catalog.EnumValue, hasNumber bool) {
	name, what := catalog.Value[string]{V: from.Name, Pos: e.Position(from.Key)}, "value "+diag.Label(from.Name)+" of "+e.what
	if from.Value.Kind == yaml.ScalarNode {
		if v = e.value(name, from.Key, e.names.GoName(from.Name)); v != nil && text.IsNumber(from.Value) {
			e.number(v, what, from)
		} else if !text.IsNumber(from.Value) {
			e.WrongKind(from.Value, what, "a whole number or a mapping")
		}
		return v, text.IsNumber(from.Value)
	}
	o, _ := e.Object(from.Value, what, "number", "doc", "deprecated", "go_name")
	if v = e.value(name, from.Key, e.names.OwnGoName(o, e.names.GoName(from.Name))); v == nil {
		return nil, false
	}
	v.Doc, v.Deprecated = e.Doc(from.Key, o), e.Deprecated(o)
	number, hasNumber := o.Entries["number"]
	if hasNumber {
		e.number(v, what, number)
	}
	return v, hasNumber
}

// number reads the number by which a value travels.
func (e *enumReader) number(v *catalog.EnumValue, what string, entry text.Entry) {
	entry.Name = "number"
	n, ok := e.WholeNumber(entry, what)
	if !ok {
		return
	}
	if n.V < math.MinInt32 || n.V > math.MaxInt32 {
		e.Report(e.Place(entry.Value), rules.OutOfRange, "number of %s is %d", what, n.V).
			Hint = "it must fit 32 bits, so that generated code compiles on every machine"
		return
	}
	if first := e.numbers[n.V]; first != nil {
		e.Report(e.Place(entry.Value), rules.Enum, "value %s of %s has the number of value %s", diag.Label(v.Name.V), e.what, diag.Label(first.Name.V)).
			See(e.Place(e.named[first.Name.V]), "that is here")
		return
	}
	e.numbers[n.V] = v
	v.Number = n.V
}
