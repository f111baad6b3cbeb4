package edit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/diag"
)

// A document is the text of a catalogue with its YAML nodes.
type document struct {
	name  string     // the name of its file, for messages
	lines []string   // without line ends; line 1 is lines[0]
	root  *yaml.Node // a mapping

	inserts []insert // to make after the replacements
}

// An insert is a new line before the one with that index, or at the end.
type insert struct {
	index int
	line  string
}

func read(source []byte) (*document, error) {
	text := diag.Normalize(source)
	decoder := yaml.NewDecoder(strings.NewReader(text))
	var doc yaml.Node
	if err := decoder.Decode(&doc); err != nil {
		return nil, fmt.Errorf("it is not YAML: %w", err)
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("it has more than one YAML document")
	}
	root := doc.Content[0]
	if root.Kind != yaml.MappingNode {
		return nil, errors.New("it is not a mapping with keys such as version and events")
	}
	return &document{lines: strings.Split(strings.TrimRight(text, "\n"), "\n"), root: root}, nil
}

// text returns the document with a line end after each line.
func (d *document) text() []byte {
	var b bytes.Buffer
	for _, line := range d.lines {
		b.WriteString(line + "\n")
	}
	return b.Bytes()
}

// value returns the key and the value of an entry of a mapping, or nil if there is none.
func value(mapping *yaml.Node, name string) (key, val *yaml.Node) {
	if mapping == nil || mapping.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == name {
			return mapping.Content[i], mapping.Content[i+1]
		}
	}
	return nil, nil
}

// at returns the node at a path of keys, or nil if there is none.
func (d *document) at(path ...string) *yaml.Node {
	node := d.root
	for _, name := range path {
		_, node = value(node, name)
	}
	return node
}

// A replacement is a new text for some characters of a line. Lines and columns
// count from 1, columns in characters.
type replacement struct {
	line, column, length int
	text                 string
}

// replace makes replacements that do not overlap.
func (d *document) replace(all []replacement) {
	slices.SortFunc(all, func(a, b replacement) int { return b.column - a.column }) // from right to left, so that columns stay right
	for _, r := range all {
		line := []rune(d.lines[r.line-1])
		d.lines[r.line-1] = string(slices.Replace(line, r.column-1, r.column-1+r.length, []rune(r.text)...))
	}
}

// makeInserts inserts the new lines.
func (d *document) makeInserts() {
	slices.SortStableFunc(d.inserts, func(a, b insert) int { return b.index - a.index }) // from the end, so that indices stay right
	for _, i := range d.inserts {
		d.lines = slices.Insert(d.lines, i.index, i.line)
	}
	d.inserts = nil
}

// isBlock reports whether a mapping has an entry on each line, and is not in { }.
func isBlock(n *yaml.Node) bool {
	return n.Kind == yaml.MappingNode && n.Style&yaml.FlowStyle == 0 && len(n.Content) > 0
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

func isBlank(line string) bool { return strings.TrimSpace(line) == "" }

func isComment(line string) bool { return strings.HasPrefix(strings.TrimSpace(line), "#") }
