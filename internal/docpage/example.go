package docpage

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/busgen/busgen/internal/catalog"
)

// exampleOf is the first example that an event shows, or one that is made up.
func exampleOf(e *catalog.Event) []byte {
	if len(e.Examples) > 0 {
		return e.Examples[0].JSON
	}
	var b bytes.Buffer
	writeFields(&b, e.Fields, 0)
	return b.Bytes()
}

func writeFields(b *bytes.Buffer, fields []*catalog.Field, depth int) {
	b.WriteByte('{')
	first := true
	for _, f := range fields {
		if f.Type.Optional && depth > 1 {
			continue // so that types that contain themselves come to an end
		}
		if !first {
			b.WriteByte(',')
		}
		first = false
		b.WriteString(strconv.Quote(f.Name.V) + ":")
		writeValue(b, f.Type, f.Name.V, depth)
	}
	b.WriteByte('}')
}

func writeValue(b *bytes.Buffer, t *catalog.TypeRef, name string, depth int) {
	switch t.Kind {
	case catalog.List:
		b.WriteByte('[')
		if depth < 3 {
			writeValue(b, t.Elem, name, depth+1)
		}
		b.WriteByte(']')
	case catalog.Map:
		b.WriteString(`{"key":`)
		writeValue(b, t.Elem, name, depth+1)
		b.WriteByte('}')
	case catalog.Named:
		if t.Named.IsEnum() {
			text, _ := json.Marshal(t.Named.Values[0].Name.V) // a string has a JSON form
			b.Write(text)
			return
		}
		writeFields(b, t.Named.Fields, depth+1)
	default:
		b.WriteString(plain[t.Kind])
	}
}

// plain are values of the kinds that are one token.
var plain = map[catalog.Kind]string{
	catalog.String: `"text"`, catalog.Bool: "true", catalog.Int: "1", catalog.Int32: "1", catalog.Int64: "1", catalog.Uint64: "1",
	catalog.Float64: "0.5", catalog.Bytes: `"AAH/"`, catalog.Time: `"2024-02-29T12:30:00Z"`, catalog.Date: `"2024-02-29"`,
	catalog.Duration: `"1h30m0s"`, catalog.UUID: `"018f4f2e-0000-7000-8000-000000000001"`, catalog.Decimal: `"9.99"`, catalog.JSON: "{}",
}
