package catalog

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/busgen/busgen/internal/format"
)

// constraints checks a value of a field's type against what the field says
// besides. It does what generated code does (Problems in package runtime).
func (p *payloadCheck) constraints(path string, f *Field, raw json.RawMessage) {
	c, t := f.Constraints, f.Type
	if c == (Constraints{}) {
		return
	}
	switch t.Kind {
	case String:
		p.text(path, c, unquoteJSON(raw))
	case Bytes:
		decoded, _ := base64.StdEncoding.DecodeString(unquoteJSON(raw)) // it is valid; null is empty
		p.length(path, c, len(decoded), "byte")
	case List:
		var items []string
		elements(raw, func(item json.RawMessage) { items = append(items, canonical(t.Elem, item)) })
		p.items(path, c, len(items))
		if c.Unique.V {
			p.unique(path, items)
		}
	case Map:
		n := 0
		entries(raw, func(string, json.RawMessage) { n++ })
		p.items(path, c, n)
	default:
		value := strings.Trim(string(raw), `"`)
		if c.Min.Written() && compareScalars(t.Kind, value, c.Min.V) < 0 {
			p.report(path, "is %s; it must be at least %s", value, c.Min.V)
		}
		if c.Max.Written() && compareScalars(t.Kind, value, c.Max.V) > 0 {
			p.report(path, "is %s; it must be at most %s", value, c.Max.V)
		}
	}
}

func (p *payloadCheck) text(path string, c Constraints, text string) {
	p.length(path, c, utf8.RuneCountInString(text), "character")
	if c.Pattern.Written() {
		if pattern, err := regexp.Compile(c.Pattern.V); err == nil && !pattern.MatchString(text) {
			p.report(path, "%.60q does not match %s", text, c.Pattern.V)
		}
	}
	if c.Format.Written() {
		if noun, ok := format.Check(c.Format.V, text); !ok {
			p.report(path, "%.60q is not %s", text, noun)
		}
	}
}

func (p *payloadCheck) length(path string, c Constraints, n int, unit string) {
	p.within(path, n, unit, c.MinLength, c.MaxLength)
}

func (p *payloadCheck) items(path string, c Constraints, n int) {
	p.within(path, n, "item", c.MinItems, c.MaxItems)
}

func (p *payloadCheck) within(path string, n int, unit string, least, most Value[int]) {
	if n != 1 {
		unit += "s"
	}
	if n < least.V {
		p.report(path, "has %d %s; it needs at least %d", n, unit, least.V)
	}
	if most.Written() && n > most.V {
		p.report(path, "has %d %s; it may have at most %d", n, unit, most.V)
	}
}

func (p *payloadCheck) unique(path string, items []string) {
	first := map[string]int{}
	for i, item := range items {
		if j, seen := first[item]; seen {
			p.report(fmt.Sprintf("%s[%d]", path, i), "is the same as %s[%d]", path, j)
			continue
		}
		first[item] = i
	}
}

// canonical is the same text for JSON that stands for the same Go value.
func canonical(t *TypeRef, raw json.RawMessage) string {
	text := string(raw)
	switch t.Kind {
	case Float64:
		f, _ := strconv.ParseFloat(text, 64)
		return strconv.FormatFloat(f+0, 'g', -1, 64)
	case Duration:
		d, _ := time.ParseDuration(unquoteJSON(raw))
		return d.String()
	case UUID:
		id, _ := uuid.Parse(unquoteJSON(raw))
		return id.String()
	case String, Date, Decimal, Named:
		return unquoteJSON(raw)
	}
	return text
}

// unquoteJSON returns the text of a JSON text, and nothing for null.
func unquoteJSON(raw json.RawMessage) (text string) {
	json.Unmarshal(raw, &text) // it is a text or null
	return text
}
