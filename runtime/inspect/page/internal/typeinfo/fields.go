package typeinfo

import (
	"bytes"
	"encoding/json"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/runtime/inspect/page/internal/texts"
)

// Row is a field of a payload beside what the catalogue says about it.
type Row struct {
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
)

// Rows lists the fields of a type; of a payload with their values. Without a payload there
// are no values.
func Rows(fields []*catalog.Field, payload []byte) []Row {
	if len(payload) > texts.MostParsed {
		payload = nil
	}
	l := &lister{}
	l.list("", fields, payload, mostDepth)
	return l.rows
}

type lister struct{ rows []Row }

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
		row := Row{
			Path: path + f.Name.V, Type: f.Type.Text, Doc: f.Doc, Deprecated: f.Deprecated.V,
			Optional: f.Type.Optional, Nullable: f.Type.Nullable, There: there,
			Sensitive: f.Sensitive.V, Personal: f.Personal.V,
		}
		row.Type, _ = catalog.CutMark(row.Type)
		if row.Type == catalog.InPlace {
			row.Type = "object"
		}
		inside, many := parts(f.Type)
		if inside == nil {
			row.Value = texts.Brief(v)
			l.rows = append(l.rows, row)
			continue
		}
		if many {
			row.Value = texts.Brief(v)
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
			l.rows = append(l.rows, Row{Path: path + name, Value: texts.Brief(v), There: true, Unknown: true})
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
