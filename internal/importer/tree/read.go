package tree

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/diag"
)

// A reporter takes a finding.
type reporter func(at diag.Place, rule *diag.Rule, message string, args ...any) *diag.Finding

// maxDepth is how deep values may be inside one another.
const maxDepth = 500

// An Error says where a document cannot be read.
type Error struct {
	At      diag.Place
	Message string
}

func (e *Error) Error() string { return e.Message }

// Read reads JSON or, if it is not that, YAML. report gets the faults that do not keep it from being read.
func Read(file string, source []byte, report reporter) (*Node, error) {
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
	r := &yamlReader{places: newPlaces(file, source), report: report, nodes: map[*yaml.Node]*Node{}}
	return r.document(source)
}

// inUTF8 is a text of UTF-16 that begins with a mark, as some editors and shells of Windows write it, in UTF-8; any
// other source as it is.
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
	return &Error{p.place(line, column, 1), "it is not UTF-8 text: save it as UTF-8"}
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
	return &Error{p.place(line, column, 1), "it is not JSON: " + err.Error()}
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
