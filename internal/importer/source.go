package importer

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/diag"
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
	place   diag.Place

	// Of schemas that were put together of others:
	sometimes []*node // parts that hold for some values only
	either    bool    // it is what several alternatives say of one property

	// unsure says that it is written as a number that readers of YAML take for different values. It is its text then.
	unsure bool
}

// A reporter takes a finding.
type reporter func(at diag.Place, rule *diag.Rule, message string, args ...any) *diag.Finding

type member struct {
	name  string
	at    diag.Place
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
func (n *node) at(name string) diag.Place {
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

func newText(at diag.Place, value string) *node { return &node{kind: text, text: value, place: at} }

func newBoolean(at diag.Place, value bool) *node {
	return &node{kind: boolean, text: strconv.FormatBool(value), place: at}
}

func newMember(name string, at diag.Place, value *node) member { return member{name, at, value} }

func newList(at diag.Place, items ...*node) *node { return &node{kind: list, items: items, place: at} }

func newObject(at diag.Place) *node { return &node{kind: object, place: at} }

// add adds a member, whose name is at a place, and returns n.
func (n *node) add(name string, at diag.Place, value *node) *node {
	n.members = append(n.members, member{name, at, value})
	return n
}

// set gives a member another value; nothing if there is no such member.
func (n *node) set(name string, value *node) {
	for i, m := range n.members {
		if m.name == name {
			n.members[i].value = value
		}
	}
}

// without is a copy of an object without some members.
func (n *node) without(names ...string) *node {
	rest := *n
	rest.members = slices.DeleteFunc(slices.Clone(n.members), func(m member) bool { return slices.Contains(names, m.name) })
	return &rest
}

// withoutText is a copy of a list without a text.
func (n *node) withoutText(text string) *node {
	rest := *n
	rest.items = slices.DeleteFunc(slices.Clone(n.items), func(item *node) bool { return item.text == text })
	return &rest
}

// rational is the value of a number, unless that would take very much memory.
func (n *node) rational() (*big.Rat, bool) {
	if !n.is(number) || len(n.text) > 400 {
		return nil, false
	}
	if at := strings.IndexAny(n.text, "eE"); at >= 0 {
		if exponent, err := strconv.Atoi(n.text[at+1:]); err != nil || exponent > 400 || exponent < -400 {
			return nil, false
		}
	}
	return new(big.Rat).SetString(n.text)
}

// isWhole tells an integer that has no point and no exponent.
func (n *node) isWhole() bool {
	return n.is(number) && !n.unsure && !strings.ContainsAny(n.text, ".eE")
}

// same compares two values, unless they are very large: aliases of YAML can make them so.
func same(a, b *node) bool {
	left := 10_000
	var equal func(a, b *node) bool
	equal = func(a, b *node) bool {
		left--
		return left > 0 && (a == b || a.kind == b.kind && a.text == b.text &&
			slices.EqualFunc(a.items, b.items, equal) &&
			slices.EqualFunc(a.members, b.members, func(x, y member) bool { return x.name == y.name && equal(x.value, y.value) }))
	}
	return equal(a, b)
}

// maxDepth is how deep values may be inside one another.
const maxDepth = 500

// A sourceError says where a document cannot be read.
type sourceError struct {
	at      diag.Place
	message string
}

func (e *sourceError) Error() string { return e.message }

// readNodes reads JSON or, if it is not that, YAML. What is wrong in it, but does not keep it from being read, is given
// to report.
func readNodes(file string, source []byte, report reporter) (*node, error) {
	source = bytes.TrimPrefix(inUTF8(source), []byte("\uFEFF"))
	if !utf8.Valid(source) {
		return nil, notUTF8(newPlaces(file, source), source)
	}
	if json.Valid(source) {
		r := &jsonReader{places: newPlaces(file, source), source: source, report: report, line: 1, column: 1}
		r.decoder = json.NewDecoder(bytes.NewReader(source))
		r.decoder.UseNumber()
		return r.value(0)
	}
	if strings.HasSuffix(strings.ToLower(file), ".json") {
		return nil, notJSON(newPlaces(file, source), source)
	}
	r := &yamlReader{places: newPlaces(file, source), report: report, nodes: map[*yaml.Node]*node{}}
	return r.document(source)
}

// inUTF8 is a text of UTF-16 that begins with a mark, as some editors and shells of Windows write it, in UTF-8; any other
// source as it is.
func inUTF8(source []byte) []byte {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(source, []byte("\xFF\xFE")) && !bytes.HasPrefix(source, []byte("\xFF\xFE\x00\x00")):
		order = binary.LittleEndian
	case bytes.HasPrefix(source, []byte("\xFE\xFF")):
		order = binary.BigEndian
	}
	if order == nil || len(source)%2 != 0 {
		return source
	}
	var units []uint16
	for i := 2; i < len(source); i += 2 {
		units = append(units, order.Uint16(source[i:]))
	}
	return []byte(string(utf16.Decode(units)))
}

// notUTF8 says where a document stops to be UTF-8 text.
func notUTF8(p places, source []byte) error {
	offset := 0
	for offset < len(source) {
		c, width := utf8.DecodeRune(source[offset:])
		if c == utf8.RuneError && width == 1 {
			break
		}
		offset += width
	}
	line, column := lineAndColumn(source[:offset])
	return &sourceError{p.place(line, column, 1), "it is not UTF-8 text: save it as UTF-8"}
}

func lineAndColumn(before []byte) (line, column int) {
	return bytes.Count(before, []byte("\n")) + 1, utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
}

// notJSON says where a document stops to be JSON.
func notJSON(p places, source []byte) error {
	var syntax *json.SyntaxError
	offset := len(source)
	err := json.Unmarshal(source, new(any))
	if errors.As(err, &syntax) {
		offset = max(0, int(syntax.Offset)-1)
	}
	line, column := lineAndColumn(source[:min(offset, len(source))])
	return &sourceError{p.place(line, column, 1), "it is not JSON: " + err.Error()}
}

// places knows the lines of a document.
type places struct {
	file  string
	lines []string
}

func newPlaces(file string, source []byte) places {
	return places{file, strings.Split(string(source), "\n")}
}

// place makes a place of a line, a column and a length, moved into the document.
func (p places) place(line, column, length int) diag.Place {
	line = min(max(line, 1), len(p.lines))
	content := strings.TrimSuffix(p.lines[line-1], "\r")
	width := utf8.RuneCountInString(content)
	column = min(max(column, 1), width+1)
	return diag.Place{
		Pos:    diag.Position{File: p.file, Line: line, Column: column},
		Length: min(max(length, 1), max(1, width-column+1)),
		Line:   content,
	}
}
