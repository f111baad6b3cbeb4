package export

import (
	"encoding/json"
	"strconv"

	"github.com/busgen/busgen/internal/catalog"
)

// typeOf is the schema of a value of a type.
func (d dialect) typeOf(t *catalog.TypeRef, c catalog.Constraints) object {
	s := object{}
	if named := declared(t); named != nil {
		s.set("$ref", d.refs+d.name(named))
		if t.MayBeNil() {
			return nullable(s)
		}
		return s
	}
	switch t.Kind {
	case catalog.JSON: // anything
	case catalog.Bool:
		s.set("type", "boolean")
	case catalog.Int, catalog.Int32, catalog.Int64, catalog.Uint64, catalog.Float64:
		number(&s, t.Kind, c)
	case catalog.List:
		s.set("type", "array")
		s.set("items", d.typeOf(t.Elem, c.OfEach()))
		count(&s, "minItems", c.MinItems)
		count(&s, "maxItems", c.MaxItems)
		if c.Unique.V {
			s.set("uniqueItems", true)
		}
	case catalog.Map:
		s.set("type", "object")
		s.set("additionalProperties", d.typeOf(t.Elem, c.OfEach()))
		count(&s, "minProperties", c.MinItems)
		count(&s, "maxProperties", c.MaxItems)
	default:
		text(&s, t.Kind, c)
	}
	if mayBeNull(t, c) {
		return nullable(s)
	}
	return s
}

// mayBeNull tells whether a value may be null: an absent value is null, and so is a nil list, map or bytes of Go.
func mayBeNull(t *catalog.TypeRef, c catalog.Constraints) bool {
	if t.MayBeNil() || declared(t) != nil {
		return t.MayBeNil()
	}
	return (t.IsCollection() || t.Kind == catalog.Bytes) && c.MinItems.V == 0 && c.MinLength.V == 0
}

// declared is the declared type or the named scalar that t is; nil for a built-in type, a list or a map.
func declared(t *catalog.TypeRef) *catalog.Type {
	if t.IsCollection() {
		return nil
	}
	return t.Uses()
}

// nullable allows null too, which stands for an absent value, or nil in Go.
func nullable(s object) object {
	switch {
	case s.get("$ref") != nil:
		return object{{"anyOf", []object{s, {{"type", "null"}}}}}
	case s.get("type") != nil:
		s.set("type", []any{s.get("type"), "null"})
	}
	return s
}

// number sets type, OpenAPI's format for the size, and limits.
func number(s *object, kind catalog.Kind, c catalog.Constraints) {
	least, most := "", ""
	s.set("type", "integer")
	switch kind {
	case catalog.Int, catalog.Int64:
		s.set("format", "int64")
	case catalog.Int32:
		s.set("format", "int32")
		least, most = "-2147483648", "2147483647"
	case catalog.Uint64:
		s.set("format", "uint64")
		least = "0"
	default:
		s.set("type", "number")
		s.set("format", "double")
	}
	if c.Min.Written() {
		least = c.Min.V.Text
	}
	if c.Max.Written() {
		most = c.Max.V.Text
	}
	if least != "" {
		s.set("minimum", json.RawMessage(least))
	}
	if most != "" {
		s.set("maximum", json.RawMessage(most))
	}
}

// formats maps formats of the catalogue to those of JSON Schema.
var formats = map[string]string{"email": "email", "url": "uri", "hostname": "hostname", "ipv4": "ipv4", "ipv6": "ipv6"}

// Patterns for values that no format of JSON Schema describes.
const (
	DurationPattern = `^[-+]?(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$|^[-+]?0$`
	DecimalPattern  = `^-?(0|[1-9][0-9]*)(\.[0-9]+)?$`
	URLPattern      = `^[A-Za-z][A-Za-z0-9+.-]*://[^/?#]` // a uri with a host
)

// text describes a value that is a string in JSON.
func text(s *object, kind catalog.Kind, c catalog.Constraints) {
	s.set("type", "string")
	switch kind {
	case catalog.Bytes:
		s.set("contentEncoding", "base64")
		count(s, "minLength", inBase64(c.MinLength))
		count(s, "maxLength", inBase64(c.MaxLength))
		return
	case catalog.Time:
		s.set("format", "date-time")
	case catalog.Date:
		s.set("format", "date")
	case catalog.UUID:
		s.set("format", "uuid")
	case catalog.Duration:
		s.set("pattern", DurationPattern)
	case catalog.Decimal:
		s.set("pattern", DecimalPattern)
	}
	s.text("format", formats[c.Format.V])
	if c.Format.V == "ip" {
		s.set("anyOf", []object{{{"format", "ipv4"}}, {{"format", "ipv6"}}})
	}
	count(s, "minLength", c.MinLength)
	count(s, "maxLength", c.MaxLength)
	s.text("pattern", c.Pattern.V.Text)
	switch {
	case c.Format.V != "url":
	case c.Pattern.V.Text == "":
		s.set("pattern", URLPattern)
	default:
		s.set("allOf", []object{{{"pattern", URLPattern}}})
	}
}

// inBase64 returns the length of n bytes in base64.
func inBase64(n catalog.Value[int]) catalog.Value[int] {
	n.V = (n.V + 2) / 3 * 4
	return n
}

func count(s *object, key string, n catalog.Value[int]) {
	if n.Written() {
		s.set(key, json.RawMessage(strconv.Itoa(n.V)))
	}
}
