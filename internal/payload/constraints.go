package payload

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/format"
	"github.com/busgen/busgen/internal/plainjson"
)

// constraints checks a value of type t against constraints. It does what generated code does (package
// runtime/gen/checks).
func (c *checker) constraints(t *catalog.TypeRef, limits catalog.Constraints, raw json.RawMessage) {
	if limits == (catalog.Constraints{}) {
		return
	}
	switch t.Kind {
	case catalog.String:
		c.text(limits, plainjson.Unquote(raw))
	case catalog.Bytes:
		decoded, _ := base64.StdEncoding.DecodeString(plainjson.Unquote(raw)) // it is valid; null is empty
		c.count(len(decoded), "byte", limits.MinLength, limits.MaxLength)
	case catalog.List:
		items := itemsOf(raw)
		c.count(len(items), "item", limits.MinItems, limits.MaxItems)
		if limits.Unique.V {
			c.unique(t.Elem, items)
		}
		for i, item := range items {
			c.within("["+strconv.Itoa(i)+"]", func() { c.constraints(t.Elem, limits.OfEach(), item) })
		}
	case catalog.Map:
		n := 0
		eachEntry(raw, func(key string, value json.RawMessage) {
			n++
			c.within(fmt.Sprintf("[%q]", key), func() { c.constraints(t.Elem, limits.OfEach(), value) })
		})
		c.count(n, "item", limits.MinItems, limits.MaxItems)
	default:
		value := strings.Trim(string(raw), `"`)
		is := catalog.NewBound(t.Kind, value)
		if limits.Min.Written() && is.Compare(limits.Min.V) < 0 {
			c.report("is %s; it must be at least %s", value, limits.Min.V.Text)
		}
		if limits.Max.Written() && is.Compare(limits.Max.V) > 0 {
			c.report("is %s; it must be at most %s", value, limits.Max.V.Text)
		}
	}
}

func (c *checker) text(limits catalog.Constraints, text string) {
	c.count(utf8.RuneCountInString(text), "character", limits.MinLength, limits.MaxLength)
	switch pattern := limits.Pattern.V; {
	case !limits.Pattern.Written():
	case pattern.Regexp == nil:
		c.report("cannot be checked: its pattern %s is not a regular expression", pattern.Text)
	case !pattern.Regexp.MatchString(text):
		c.report("%.60q does not match %s", text, pattern.Text)
	}
	if limits.Format.Written() {
		if noun, ok := format.Check(limits.Format.V, text); !ok {
			c.report("%.60q is not %s", text, noun)
		}
	}
}

// count checks how many characters, bytes or items there are.
func (c *checker) count(n int, unit string, least, most catalog.Value[int]) {
	if n != 1 {
		unit += "s"
	}
	if n < least.V {
		c.report("has %d %s; it needs at least %d", n, unit, least.V)
	}
	if most.Written() && n > most.V {
		c.report("has %d %s; it may have at most %d", n, unit, most.V)
	}
}

// unique reports items that are equal to one before them.
func (c *checker) unique(t *catalog.TypeRef, items []json.RawMessage) {
	first := map[string]int{}
	for i, raw := range items {
		item := canonical(t, raw)
		if j, seen := first[item]; seen {
			c.within("["+strconv.Itoa(i)+"]", func() { c.report("is the same as %s[%d]", c.at(1), j) })
			continue
		}
		first[item] = i
	}
}

// itemsOf returns the items of a list; none for null.
func itemsOf(raw json.RawMessage) (items []json.RawMessage) {
	s := plainjson.Scanner{Rest: raw}
	if s.Next() == "a list" {
		s.Items(func(int) { items = append(items, s.Value()) })
	}
	return items
}

// eachEntry visits the entries of an object, also those with the same key; none of null.
func eachEntry(raw json.RawMessage, visit func(key string, value json.RawMessage)) {
	s := plainjson.Scanner{Rest: raw}
	if s.Next() == "an object" {
		s.Entries(func(key json.RawMessage) { visit(plainjson.Unquote(key), s.Value()) })
	}
}

// canonical returns the same text for all JSON that stands for the same Go value.
func canonical(t *catalog.TypeRef, raw json.RawMessage) string {
	text := string(raw)
	switch t.Kind {
	case catalog.Float64:
		f, _ := strconv.ParseFloat(text, 64)
		return strconv.FormatFloat(f+0, 'g', -1, 64)
	case catalog.Duration:
		d, _ := time.ParseDuration(plainjson.Unquote(raw))
		return d.String()
	case catalog.UUID:
		id, _ := uuid.Parse(plainjson.Unquote(raw))
		return id.String()
	case catalog.String, catalog.Date, catalog.Decimal, catalog.Named:
		return plainjson.Unquote(raw)
	}
	return text
}
