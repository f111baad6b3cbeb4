package page

import (
	"bytes"
	"encoding/json"

	"github.com/busgen/busgen/internal/catalog"
)

// mostParsed is the size from which on a payload is shown as it is stored, without its fields.
const mostParsed = 256 << 10

// pretty writes JSON on several lines. What is none, or is huge, stays as it is.
func pretty(text []byte) string {
	var b bytes.Buffer
	if len(text) > mostParsed || json.Indent(&b, text, "", "  ") != nil {
		return string(text)
	}
	return b.String()
}

// fieldRow is a field of a payload beside what the catalogue says about it.
type fieldRow struct {
	Path       string // customer.email, lines[].article
	Type       string
	Doc        string
	Deprecated string
	Optional   bool
	Nullable   bool
	Sensitive  bool // its value is hidden
	Personal   bool
	Value      string // as JSON, and short
	There      bool   // it has a value
	Unknown    bool   // the catalogue does not have it
}

const (
	mostFields = 300
	mostDepth  = 5
	mostValue  = 160
)

// fieldRows lists the fields of a type; of a payload with their values. Without a payload there
// are no values.
func fieldRows(fields []*catalog.Field, payload []byte) []fieldRow {
	if len(payload) > mostParsed {
		payload = nil
	}
	l := &lister{}
	l.list("", fields, payload, mostDepth)
	return l.rows
}

type lister struct{ rows []fieldRow }

// list adds the fields of a struct, whose value may be nil.
func (l *lister) list(path string, fields []*catalog.Field, value []byte, depth int) {
	var values map[string]json.RawMessage
	if value != nil {
		json.Unmarshal(value, &values) // of what is no object no field has a value
	}
	for _, f := range fields {
		if len(l.rows) >= mostFields {
			return
		}
		v, there := values[f.Name.V]
		delete(values, f.Name.V)
		row := fieldRow{
			Path: path + f.Name.V, Type: f.Type.Text, Doc: f.Doc, Deprecated: f.Deprecated.V, Optional: f.Type.Optional, Nullable: f.Type.Nullable, There: there,
			Sensitive: f.Sensitive.V, Personal: f.Personal.V,
		}
		row.Type, _ = catalog.CutMark(row.Type)
		if row.Type == catalog.InPlace {
			row.Type = "object"
		}
		inside, many := parts(f.Type)
		if inside == nil {
			row.Value = brief(v)
			l.rows = append(l.rows, row)
			continue
		}
		if many {
			row.Value = brief(v)
		}
		l.rows = append(l.rows, row)
		if depth == 0 {
			continue
		}
		if many {
			l.list(row.Path+"[].", inside, nil, depth-1)
		} else {
			l.list(row.Path+".", inside, v, depth-1)
		}
	}
	for name, v := range ordered(value, values) {
		if len(l.rows) < mostFields {
			l.rows = append(l.rows, fieldRow{Path: path + name, Value: brief(v), There: true, Unknown: true})
		}
	}
}

// parts returns the fields inside of a type, and whether there can be many such structs.
func parts(t *catalog.TypeRef) (fields []*catalog.Field, many bool) {
	for t.Elem != nil {
		t, many = t.Elem, true
	}
	if t.Named == nil || !t.Named.IsStruct() {
		return nil, many
	}
	return t.Named.Fields, many
}

// ordered goes through what is left of an object in its own order.
func ordered(object []byte, left map[string]json.RawMessage) func(func(string, json.RawMessage) bool) {
	return func(yield func(string, json.RawMessage) bool) {
		if len(left) == 0 {
			return
		}
		d := json.NewDecoder(bytes.NewReader(object))
		d.Token() // the brace
		for d.More() {
			token, err := d.Token()
			name, ok := token.(string)
			var value json.RawMessage
			if err != nil || !ok || d.Decode(&value) != nil {
				return
			}
			if _, ok := left[name]; !ok {
				continue
			}
			delete(left, name)
			if !yield(name, value) {
				return
			}
		}
	}
}

// brief is a value on one line.
func brief(value []byte) string {
	var b bytes.Buffer
	if json.Compact(&b, value) != nil {
		return ""
	}
	return clip(b.String(), mostValue)
}
