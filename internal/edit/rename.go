package edit

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/glob"
)

// A Change is a catalogue with something renamed or added.
type Change struct {
	Text   []byte
	Places int // that were changed
}

// NotFoundError says that there is nothing of that name to rename.
type NotFoundError struct {
	What, Name string
	Within     string   // what has no such thing; empty for the catalogue
	Names      []string // those that there are
}

// Error names it.
func (e *NotFoundError) Error() string {
	text := "there is no " + e.What + " " + e.Name
	if e.Within != "" {
		text += " in " + e.Within
	}
	return text
}

// RenameEvent renames an event type, also in policies and in lint exceptions that are
// for it alone.
func RenameEvent(source []byte, from, to string) (*Change, error) {
	r, err := newRenamer(source)
	if err != nil {
		return nil, err
	}
	events := r.at("events")
	key, _ := value(events, from)
	if key == nil {
		return nil, &NotFoundError{What: "event", Name: from, Names: names(events)}
	}
	if err := glob.ValidName(to); err != nil {
		return nil, fmt.Errorf("%s cannot be the name of an event: %w", to, err)
	}
	r.scalar(key, from, to)
	if key, _ := value(r.at("policies"), from); key != nil {
		r.scalar(key, from, to)
	}
	r.exceptions(from, to)
	return r.change()
}

// RenameType renames a type wherever it is used.
func RenameType(source []byte, from, to string) (*Change, error) {
	r, err := newRenamer(source)
	if err != nil {
		return nil, err
	}
	types := r.at("types")
	key, _ := value(types, from)
	if key == nil {
		return nil, &NotFoundError{What: "type", Name: from, Names: names(types)}
	}
	r.scalar(key, from, to)
	for _, fields := range r.allFields() {
		r.typesOf(fields, from, to)
	}
	eachPair(types, func(_, body *yaml.Node) { r.typesOf(unionOf(body), from, to) })
	r.exceptions(from, to)
	return r.change()
}

// RenameField renames a field of an event's payload or of a type: owner is the name
// of one of them. That is another key in the JSON, so what was stored before is read
// as if the field were not there.
func RenameField(source []byte, owner, from, to string) (*Change, error) {
	r, err := newRenamer(source)
	if err != nil {
		return nil, err
	}
	fields := r.at("events", owner, "payload")
	if fields == nil {
		fields = r.at("types", owner, "fields")
	}
	if fields == nil {
		return nil, &NotFoundError{
			What: "event or type with fields", Name: owner, Names: append(names(r.at("events")), names(r.at("types"))...),
		}
	}
	key, _ := value(fields, from)
	if key == nil {
		return nil, &NotFoundError{What: "field", Name: from, Within: owner, Names: names(fields)}
	}
	r.scalar(key, from, to)
	event := r.at("events", owner)
	if _, by := value(event, "partition_by"); by != nil && by.Value == from {
		r.scalar(by, from, to)
	}
	c, findings := catalog.Parse("", source)
	if findings != nil {
		return nil, findings
	}
	r.inExamples(c, owner, from, to)
	return r.change()
}

// A renamer collects replacements in a catalogue.
type renamer struct {
	*document
	places []replacement
	err    error // of the first scalar that cannot be replaced
}

func newRenamer(source []byte) (*renamer, error) {
	d, err := read(source)
	if err != nil {
		return nil, err
	}
	return &renamer{document: d}, nil
}

// scalar replaces the text of a scalar, or a part of it: from is written as it is in
// the file.
func (r *renamer) scalar(n *yaml.Node, from, to string) {
	line := []rune(r.lines[n.Line-1])[n.Column-1:]
	at := strings.Index(n.Value, from)
	column := n.Column
	if n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 {
		column++
		line = line[1:]
	}
	before := utf8.RuneCountInString(n.Value[:max(at, 0)])
	length := utf8.RuneCountInString(from)
	if at < 0 || len(line) < before+length || string(line[before:before+length]) != from {
		if r.err == nil {
			r.err = fmt.Errorf("line %d: %s is written in a way that cannot be edited: rename it by hand", n.Line, from)
		}
		return
	}
	r.places = append(r.places, replacement{n.Line, column + before, length, to})
}

// exceptions replaces a name in the exceptions of lint rules.
func (r *renamer) exceptions(from, to string) {
	eachPair(r.at("lint"), func(_, setting *yaml.Node) {
		_, except := value(setting, "except")
		if except == nil {
			return
		}
		for _, pattern := range except.Content {
			if pattern.Value == from {
				r.scalar(pattern, from, to)
			}
		}
	})
}

// allFields lists the mappings that declare fields.
func (r *renamer) allFields() []*yaml.Node {
	var all []*yaml.Node
	add := func(fields *yaml.Node) {
		if fields != nil {
			all = append(all, fields)
		}
	}
	eachPair(r.at("types"), func(_, body *yaml.Node) { _, fields := value(body, "fields"); add(fields) })
	eachPair(r.at("events"), func(_, body *yaml.Node) { _, fields := value(body, "payload"); add(fields) })
	return all
}

// unionOf is the mapping of variants of a union; nil for another type.
func unionOf(body *yaml.Node) *yaml.Node {
	_, variants := value(body, "one_of")
	return variants
}

// typesOf replaces the name of a type where fields, or variants, are of it.
func (r *renamer) typesOf(fields *yaml.Node, from, to string) {
	eachPair(fields, func(_, field *yaml.Node) {
		text := field
		if field.Kind == yaml.MappingNode {
			_, text = value(field, "type")
			if _, inner := value(field, "fields"); inner != nil {
				r.typesOf(inner, from, to)
			}
		}
		if text != nil && text.Kind == yaml.ScalarNode && typeIn(text.Value) == from {
			r.scalar(text, from, to)
		}
	})
}

// typeIn is the name at the end of the text of a type: Money of []Money?.
func typeIn(text string) string {
	text = strings.TrimSuffix(text, "?")
	return text[strings.LastIndexByte(text, ']')+1:]
}

// change makes the replacements, and refuses a result that has findings.
func (r *renamer) change() (*Change, error) {
	if r.err != nil {
		return nil, r.err
	}
	r.replace(r.places)
	return checked(r.text(), len(r.places))
}

// checked returns a change unless the catalogue would have findings with it.
func checked(text []byte, places int) (*Change, error) {
	if _, findings := catalog.Parse("", text); findings != nil {
		f := findings[0]
		return nil, &RefusedError{Finding: f}
	}
	return &Change{text, places}, nil
}

// RefusedError says that a catalogue would have findings after a change.
type RefusedError struct{ Finding *catalog.Finding }

// Error has the first finding, without its place: the text in which that is was
// never written.
func (e *RefusedError) Error() string {
	text := "the catalogue would be wrong: " + e.Finding.Message
	if e.Finding.Hint != "" {
		text += "; " + e.Finding.Hint
	}
	return text
}

func eachPair(mapping *yaml.Node, visit func(key, val *yaml.Node)) {
	if mapping == nil || mapping.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		visit(mapping.Content[i], mapping.Content[i+1])
	}
}

func names(mapping *yaml.Node) []string {
	var all []string
	eachPair(mapping, func(key, _ *yaml.Node) { all = append(all, key.Value) })
	return all
}
