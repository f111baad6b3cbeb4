package parse

import (
	"math"
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

// enumReader reads the values of one enum.
type enumReader struct {
	*Reader
	names   *Names
	t       *catalog.Type
	what    string // for messages: enum of type Currency
	values  []*catalog.EnumValue
	named   map[string]*yaml.Node // the keys of the values so far
	numbers map[int]*catalog.EnumValue
}

// enumValues reads a list of texts, or a mapping from texts to what is said of
// them.
func (r *Types) enumValues(n *yaml.Node, t *catalog.Type) []*catalog.EnumValue {
	e := &enumReader{Reader: r.Reader, names: r.names, t: t, what: "enum of type " + diag.Label(t.Name.V), named: map[string]*yaml.Node{}, numbers: map[int]*catalog.EnumValue{}}
	switch {
	case n.Kind != yaml.SequenceNode && n.Kind != yaml.MappingNode:
		r.wrongKind(n, e.what, "a list or a mapping")
	case len(n.Content) == 0:
		r.report(r.place(n), rules.Enum, "%s has no values", e.what).Hint = "list at least one"
	case n.Kind == yaml.SequenceNode:
		for _, item := range n.Content {
			if text, ok := r.text(item, "a value of "+e.what); ok {
				e.value(text, item, e.names.goName(text.V))
			}
		}
	default:
		e.detailed(n)
	}
	return e.values
}

// value adds a value whose text is at n, unless it is refused. The Go name is
// without that of the type.
func (e *enumReader) value(text catalog.Value[string], n *yaml.Node, goName string) *catalog.EnumValue {
	switch {
	case e.named[text.V] != nil:
		e.report(e.place(n), rules.Enum, "value %q is already in %s", text.V, e.what).
			See(e.place(e.named[text.V]), "it is here")
		return nil
	case goName == "" || strings.ContainsFunc(text.V, func(c rune) bool { return !unicode.IsPrint(c) }):
		e.report(e.place(n), rules.Enum, "value %q of %s cannot be the name of a Go constant", text.V, e.what).
			Hint = "a value needs a letter or a digit and no control characters"
		return nil
	}
	e.named[text.V] = n
	v := &catalog.EnumValue{Name: text, GoName: e.t.GoName + goName, Doc: e.commentAbove(n)}
	e.values = append(e.values, v)
	return v
}

// detailed reads the form of a mapping.
func (e *enumReader) detailed(n *yaml.Node) {
	entries, _ := e.mapping(n, e.what)
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
		e.report(e.place(e.named[v.Name.V]), rules.Enum, "value %s of %s has no number, and value %s has one", diag.Label(v.Name.V), e.what, diag.Label(numbered[0].Name.V)).
			See(e.place(e.named[numbered[0].Name.V]), "it is here").
			Hint = "give a number to all values or to none"
	}
}

// details reads a value and what is said of it.
func (e *enumReader) details(from entry) (v *catalog.EnumValue, hasNumber bool) {
	name, what := catalog.Value[string]{V: from.name, Pos: e.position(from.key)}, "value "+diag.Label(from.name)+" of "+e.what
	if from.value.Kind == yaml.ScalarNode {
		if v = e.value(name, from.key, e.names.goName(from.name)); v != nil && isNumber(from.value) {
			e.number(v, what, from)
		} else if !isNumber(from.value) {
			e.wrongKind(from.value, what, "a whole number or a mapping")
		}
		return v, isNumber(from.value)
	}
	o, _ := e.object(from.value, what, "number", "doc", "deprecated", "go_name")
	if v = e.value(name, from.key, e.names.ownGoName(o, e.names.goName(from.name))); v == nil {
		return nil, false
	}
	v.Doc, v.Deprecated = e.doc(from.key, o), e.deprecated(o)
	number, hasNumber := o.entries["number"]
	if hasNumber {
		e.number(v, what, number)
	}
	return v, hasNumber
}

// number reads the number by which a value travels.
func (e *enumReader) number(v *catalog.EnumValue, what string, entry entry) {
	entry.name = "number"
	n, ok := e.wholeNumber(entry, what)
	if !ok {
		return
	}
	if n.V < math.MinInt32 || n.V > math.MaxInt32 {
		e.report(e.place(entry.value), rules.OutOfRange, "number of %s is %d", what, n.V).
			Hint = "it must fit 32 bits, so that generated code compiles on every machine"
		return
	}
	if first := e.numbers[n.V]; first != nil {
		e.report(e.place(entry.value), rules.Enum, "value %s of %s has the number of value %s", diag.Label(v.Name.V), e.what, diag.Label(first.Name.V)).
			See(e.place(e.named[first.Name.V]), "that is here")
		return
	}
	e.numbers[n.V] = v
	v.Number = n.V
}
