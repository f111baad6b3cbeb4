package draft

import (
	"bytes"
	"fmt"
	"iter"
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/importer/tree"
)

func Mapping() *yaml.Node { return &yaml.Node{Kind: yaml.MappingNode} }

// Flow has a mapping or list written in one line.
func Flow(n *yaml.Node) *yaml.Node {
	n.Style = yaml.FlowStyle
	return n
}

// Plain is a number or a truth value.
func Plain(value string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: value} }

// Text is a text, which is quoted where YAML would take it for something else.
func Text(value string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value}
	switch {
	case strings.ContainsFunc(value, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }):
		n.Style = yaml.DoubleQuotedStyle
	case value == "<<": // which the library writes without quotes
		n.Style = yaml.DoubleQuotedStyle
	case !strings.Contains(value, "\n"):
	case value != strings.TrimSpace(value), strings.Contains(value, " \n"), strings.Contains(value, "\n "):
		n.Style = yaml.DoubleQuotedStyle
	default:
		n.Style = yaml.LiteralStyle
	}
	return n
}

// Notation is the type of a field.
func Notation(value string) *yaml.Node {
	n := Text(value)
	if strings.ContainsAny(value, "[{?") {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

// Set adds a key.
func Set(m *yaml.Node, key string, value *yaml.Node) *yaml.Node {
	k := Text(key)
	m.Content = append(m.Content, k, value)
	return k
}

// Add adds a key that was made of what is at a place.
func (dr *Catalogue) Add(m *yaml.Node, key string, value *yaml.Node, at diag.Place) {
	dr.places[Set(m, key, value)] = at
}

// SetPlace says what of the document an item was made of.
func (dr *Catalogue) SetPlace(item *yaml.Node, at diag.Place) { dr.places[item] = at }

// AddText adds a text unless it is empty.
func (dr *Catalogue) AddText(m *yaml.Node, key, value string, at diag.Place) {
	if value != "" {
		dr.Add(m, key, Text(value), at)
	}
}

// entries are the keys of a mapping and where their values are; none of anything else.
func entries(m *yaml.Node) iter.Seq2[string, **yaml.Node] {
	return func(yield func(string, **yaml.Node) bool) {
		if m == nil || m.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i+1 < len(m.Content) && yield(m.Content[i].Value, &m.Content[i+1]); i += 2 {
		}
	}
}

// Get returns the value of a key; nil if there is none.
func Get(m *yaml.Node, key string) *yaml.Node {
	for name, value := range entries(m) {
		if name == key {
			return *value
		}
	}
	return nil
}

// Value is a value of the document as it stands; nil after a finding for one that aliases of
// YAML make too large.
func (dr *Catalogue) Value(n *tree.Node) *yaml.Node {
	left := dr.max
	var convert func(n *tree.Node) *yaml.Node
	convert = func(n *tree.Node) *yaml.Node {
		left--
		if left < 0 {
			return Plain("null")
		}
		switch n.Kind {
		case tree.Object:
			m := Flow(Mapping())
			for _, member := range n.Members {
				Set(m, member.Name, convert(member.Value))
			}
			return m
		case tree.List:
			l := Flow(&yaml.Node{Kind: yaml.SequenceNode})
			for _, item := range n.Items {
				l.Content = append(l.Content, convert(item))
			}
			return l
		case tree.Text:
			t := Text(n.Text)
			if t.Style == yaml.LiteralStyle {
				t.Style = yaml.DoubleQuotedStyle
			}
			return t
		case tree.Null:
			return Plain("null")
		}
		return Plain(n.Text)
	}
	converted := convert(n)
	if left < 0 {
		dr.Report(n.Place, rules.ImportReference, "the value repeats parts of the document too often and is left out")
		return nil
	}
	return converted
}

// encode writes YAML. A field is in one line if that is not too long.
func encode(root *yaml.Node) []byte {
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(root); err != nil {
		panic(fmt.Sprintf("importer: a tree of YAML cannot be written: %v", err)) // every tree can
	}
	e.Close()
	return b.Bytes()
}

// compact has short mappings written in one line.
func compact(n *yaml.Node, width int) {
	for _, child := range n.Content {
		compact(child, width-2)
	}
	if n.Kind == yaml.MappingNode && len(n.Content) > 0 && oneLine(n) <= width {
		n.Style = yaml.FlowStyle
	}
}

// oneLine is about how wide n is in one line; very much if it cannot be.
func oneLine(n *yaml.Node) int {
	const never = 1 << 20
	total := len(n.Value) + 2
	if n.Style&yaml.LiteralStyle != 0 {
		return never
	}
	for _, child := range n.Content {
		total += oneLine(child) + 1
		if total > never {
			return never
		}
	}
	return total
}

// spaced puts blank lines between the entries of a section, but for those of one line each.
func spaced(source []byte) []byte {
	var doc yaml.Node
	if yaml.Unmarshal(source, &doc) != nil || doc.Content[0].Kind != yaml.MappingNode {
		return source
	}
	before := map[int]bool{}
	root := doc.Content[0]
	for i := 0; i+1 < len(root.Content); i += 2 {
		section := root.Content[i+1]
		if section.Kind != yaml.MappingNode || section.Style&yaml.FlowStyle != 0 {
			continue
		}
		before[root.Content[i].Line] = i > 0
		for j := 2; j+1 < len(section.Content); j += 2 {
			key, value, last := section.Content[j], section.Content[j+1], section.Content[j-2]
			if key.Line > last.Line+1 || lastLine(value) > key.Line {
				before[key.Line] = true
			}
		}
	}
	var out bytes.Buffer
	line := 0
	for text := range bytes.Lines(source) {
		if line++; before[line] {
			out.WriteByte('\n')
		}
		out.Write(text)
	}
	return out.Bytes()
}

// lastLine is the line in which the last part of n begins.
func lastLine(n *yaml.Node) int {
	line := n.Line
	for _, child := range n.Content {
		line = max(line, lastLine(child))
	}
	return line
}
