package importer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
)

type kind int

const (
	object kind = iota + 1
	list
	text
	number
	boolean
	null
)

// A node is a value of the document, with its place. YAML aliases make one node
// of what they stand for, so that a document never grows by being read.
type node struct {
	kind    kind
	text    string   // of a text; of a number and a truth value, as JSON writes it
	members []member // of an object, in order, each name once
	items   []*node  // of a list
	place   catalog.Place
}

type member struct {
	name  string
	at    catalog.Place
	value *node
}

// get returns the value of a member; nil if there is none, or n is no object.
func (n *node) get(name string) *node {
	if n == nil {
		return nil
	}
	for _, m := range n.members {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// properties returns the members, and elements the items; there are none of nil.
func (n *node) properties() []member {
	if n == nil {
		return nil
	}
	return n.members
}

func (n *node) elements() []*node {
	if n == nil {
		return nil
	}
	return n.items
}

// at is the place of a member's name; that of n if it has no such member.
func (n *node) at(name string) catalog.Place {
	for _, m := range n.members {
		if m.name == name {
			return m.at
		}
	}
	return n.place
}

// str is the text of a member; empty if it has no text.
func (n *node) str(name string) string {
	if v := n.get(name); v != nil && v.kind == text {
		return v.text
	}
	return ""
}

func (n *node) is(k kind) bool { return n != nil && n.kind == k }

// isTrue tells whether a member is true.
func (n *node) isTrue(name string) bool {
	v := n.get(name)
	return v.is(boolean) && v.text == "true"
}

// maxDepth is how deep values may be inside one another.
const maxDepth = 500

// A sourceError says where a document cannot be read.
type sourceError struct {
	at      catalog.Place
	message string
}

func (e *sourceError) Error() string { return e.message }

// parse reads JSON or, if it is not that, YAML. Names that an object has twice are
// given to repeated.
func parse(file string, source []byte, repeated func(at catalog.Place, name string)) (*node, error) {
	source = bytes.TrimPrefix(source, []byte("\uFEFF"))
	if json.Valid(source) {
		r := &jsonReader{places: newPlaces(file, source), source: source, repeated: repeated, line: 1, column: 1}
		r.decoder = json.NewDecoder(bytes.NewReader(source))
		r.decoder.UseNumber()
		return r.value(0)
	}
	if strings.HasSuffix(strings.ToLower(file), ".json") {
		return nil, notJSON(newPlaces(file, source), source)
	}
	r := &yamlReader{places: newPlaces(file, source), repeated: repeated, nodes: map[*yaml.Node]*node{}}
	return r.document(source)
}

// notJSON says where a document stops to be JSON.
func notJSON(p places, source []byte) error {
	var syntax *json.SyntaxError
	offset := len(source)
	err := json.Unmarshal(source, new(any))
	if errors.As(err, &syntax) {
		offset = max(0, int(syntax.Offset)-1)
	}
	before := source[:min(offset, len(source))]
	line := bytes.Count(before, []byte("\n"))
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
	return &sourceError{p.place(line+1, column+1, 1), "it is not JSON: " + err.Error()}
}

// places knows the lines of a document.
type places struct {
	file  string
	lines []string
}

var yamlLineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

func newPlaces(file string, source []byte) places {
	return places{file, strings.Split(string(source), "\n")}
}

// place makes a place of a line, a column and a length, moved into the document.
func (p places) place(line, column, length int) catalog.Place {
	line = min(max(line, 1), len(p.lines))
	content := strings.TrimSuffix(p.lines[line-1], "\r")
	width := utf8.RuneCountInString(content)
	column = min(max(column, 1), width+1)
	return catalog.Place{
		Pos:    catalog.Position{File: p.file, Line: line, Column: column},
		Length: min(max(length, 1), max(1, width-column+1)),
		Line:   content,
	}
}

// A jsonReader reads JSON that is known to be valid.
type jsonReader struct {
	places
	source       []byte
	decoder      *json.Decoder
	repeated     func(at catalog.Place, name string)
	offset       int // line and column are those of this byte
	line, column int
}

// token returns the next token and where it begins.
func (r *jsonReader) token() (json.Token, catalog.Place) {
	start := int(r.decoder.InputOffset())
	for start < len(r.source) && strings.IndexByte(" \t\r\n,:", r.source[start]) >= 0 {
		start++
	}
	for r.offset < start {
		c, width := utf8.DecodeRune(r.source[r.offset:])
		r.offset += width
		if r.column++; c == '\n' {
			r.line, r.column = r.line+1, 1
		}
	}
	token, _ := r.decoder.Token() // the source is valid
	return token, r.lineAt(utf8.RuneCount(r.source[start:r.decoder.InputOffset()]))
}

// lineAt is a place of that length. Lines of JSON can be very long, so nothing is
// counted that was counted before.
func (r *jsonReader) lineAt(length int) catalog.Place {
	return catalog.Place{
		Pos:    catalog.Position{File: r.file, Line: r.line, Column: r.column},
		Length: max(length, 1), Line: strings.TrimSuffix(r.lines[r.line-1], "\r"),
	}
}

func (r *jsonReader) value(depth int) (*node, error) {
	token, at := r.token()
	n := &node{place: at}
	if depth > maxDepth {
		return nil, &sourceError{at, fmt.Sprintf("values are more than %d deep inside one another", maxDepth)}
	}
	switch token := token.(type) {
	case json.Delim:
		if token == '[' {
			return n, r.items(n, depth)
		}
		return n, r.membersOf(n, depth)
	case string:
		n.kind, n.text = text, token
	case json.Number:
		n.kind, n.text = number, string(token)
	case bool:
		n.kind, n.text = boolean, strconv.FormatBool(token)
	default:
		n.kind = null
	}
	return n, nil
}

func (r *jsonReader) items(n *node, depth int) error {
	n.kind = list
	for r.decoder.More() {
		item, err := r.value(depth + 1)
		if err != nil {
			return err
		}
		n.items = append(n.items, item)
	}
	r.token()
	return nil
}

func (r *jsonReader) membersOf(n *node, depth int) error {
	n.kind = object
	seen := map[string]bool{}
	for r.decoder.More() {
		token, at := r.token()
		name, _ := token.(string)
		value, err := r.value(depth + 1)
		if err != nil {
			return err
		}
		if seen[name] {
			r.repeated(at, name)
			continue
		}
		seen[name] = true
		n.members = append(n.members, member{name, at, value})
	}
	r.token()
	return nil
}

// A yamlReader reads YAML.
type yamlReader struct {
	places
	repeated func(at catalog.Place, name string)
	nodes    map[*yaml.Node]*node // so far
}

var yamlError = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

func (r *yamlReader) document(source []byte) (*node, error) {
	if !utf8.Valid(source) {
		return nil, &sourceError{r.place(1, 1, 1), "it is not UTF-8 text"}
	}
	r.lines = strings.Split(yamlLineEnds.Replace(string(source)), "\n")
	decoder := yaml.NewDecoder(bytes.NewReader(source))
	var doc yaml.Node
	err := decoder.Decode(&doc)
	if errors.Is(err, io.EOF) {
		return nil, &sourceError{r.place(1, 1, 1), "it is empty"}
	}
	if err == nil && !errors.Is(decoder.Decode(new(yaml.Node)), io.EOF) {
		return nil, &sourceError{r.place(1, 1, 1), "it is more than one YAML document"}
	}
	if err != nil {
		match := yamlError.FindStringSubmatch(err.Error())
		line := 1
		if len(match) > 1 {
			line, _ = strconv.Atoi(match[1])
		}
		return nil, &sourceError{r.place(line, 1, 1), "it is neither JSON nor YAML: " + yamlError.ReplaceAllString(err.Error(), "")}
	}
	return r.value(doc.Content[0], 0)
}

func (r *yamlReader) value(y *yaml.Node, depth int) (*node, error) {
	if n := r.nodes[y]; n != nil {
		return n, nil // an alias
	}
	n := &node{place: r.place(y.Line, y.Column, utf8.RuneCountInString(y.Value))}
	if depth > maxDepth {
		return nil, &sourceError{n.place, fmt.Sprintf("values are more than %d deep inside one another", maxDepth)}
	}
	if y.Kind != yaml.AliasNode {
		r.nodes[y] = n
	}
	switch y.Kind {
	case yaml.AliasNode:
		return r.value(y.Alias, depth+1)
	case yaml.SequenceNode:
		n.kind = list
		for _, item := range y.Content {
			value, err := r.value(item, depth+1)
			if err != nil {
				return nil, err
			}
			n.items = append(n.items, value)
		}
	case yaml.MappingNode:
		return n, r.membersOf(n, y, depth)
	default:
		scalar(n, y)
	}
	return n, nil
}

func (r *yamlReader) membersOf(n *node, y *yaml.Node, depth int) error {
	n.kind = object
	seen := map[string]bool{}
	for i := 0; i+1 < len(y.Content); i += 2 {
		key := y.Content[i]
		at := r.place(key.Line, key.Column, utf8.RuneCountInString(key.Value))
		value, err := r.value(y.Content[i+1], depth+1)
		if err != nil {
			return err
		}
		if seen[key.Value] {
			r.repeated(at, key.Value)
			continue
		}
		seen[key.Value] = true
		n.members = append(n.members, member{key.Value, at, value})
	}
	return nil
}

// scalar gives n the value of a YAML scalar, as JSON has it.
func scalar(n *node, y *yaml.Node) {
	n.kind, n.text = text, y.Value
	var f float64
	switch tag := y.ShortTag(); {
	case tag == "!!null":
		n.kind, n.text = null, ""
	case tag == "!!bool":
		var b bool
		if y.Decode(&b) == nil {
			n.kind, n.text = boolean, strconv.FormatBool(b)
		}
	case tag != "!!int" && tag != "!!float":
	case json.Valid([]byte(y.Value)):
		n.kind = number
	case tag == "!!int":
		if i, err := strconv.ParseInt(strings.ReplaceAll(y.Value, "_", ""), 0, 64); err == nil {
			n.kind, n.text = number, strconv.FormatInt(i, 10)
		}
	case y.Decode(&f) == nil && !math.IsInf(f, 0) && !math.IsNaN(f):
		n.kind, n.text = number, strconv.FormatFloat(f, 'g', -1, 64)
	}
}
