package tree

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

func (r *jsonReader) value(depth int) (*Node, error) {
	token, at := r.token()
	n := &Node{Place: at}
	if depth > maxDepth {
		return nil, &Error{at, fmt.Sprintf("values are nested more than %d deep", maxDepth)}
	}
	switch token := token.(type) {
	case json.Delim:
		if token == '[' {
			return n, r.items(n, depth)
		}
		return n, r.membersOf(n, depth)
	case string:
		n.Kind, n.Text = Text, token
	case json.Number:
		n.Kind, n.Text = Number, string(token)
	case bool:
		n.Kind, n.Text = Boolean, strconv.FormatBool(token)
	default:
		n.Kind = Null
	}
	return n, nil
}

func (r *jsonReader) items(n *Node, depth int) error {
	n.Kind = List
	for r.decoder.More() {
		item, err := r.value(depth + 1)
		if err != nil {
			return err
		}
		n.Items = append(n.Items, item)
	}
	r.token()
	return nil
}

func (r *jsonReader) membersOf(n *Node, depth int) error {
	n.Kind = Object
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
		n.Add(name, at, value)
	}
	r.token()
	return nil
}
