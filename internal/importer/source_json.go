package importer

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

// A jsonReader reads JSON that is known to be valid.
type jsonReader struct {
	places
	source       []byte
	decoder      *json.Decoder
	report       reporter
	offset       int // line and column are those of this byte
	line, column int
}

// token returns the next token and where it begins.
func (r *jsonReader) token() (json.Token, diag.Place) {
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
func (r *jsonReader) lineAt(length int) diag.Place {
	return diag.Place{
		Pos:    diag.Position{File: r.file, Line: r.line, Column: r.column},
		Length: max(length, 1), Line: strings.TrimSuffix(r.lines[r.line-1], "\r"),
	}
}

func (r *jsonReader) value(depth int) (*node, error) {
	token, at := r.token()
	n := &node{place: at}
	if depth > maxDepth {
		return nil, &sourceError{at, fmt.Sprintf("values are nested more than %d deep", maxDepth)}
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
			r.report(at, rules.ImportSyntax, repeated, name)
			continue
		}
		seen[name] = true
		n.add(name, at, value)
	}
	r.token()
	return nil
}
