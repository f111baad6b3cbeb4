package payload

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/plainjson"
)

// A checker goes through well-formed JSON once and collects what is wrong with it. A strict one wants
// what the catalogue says. A lenient one wants what generated code decodes.
type checker struct {
	lenient bool
	stored  bool // a strict one: fields may have former names, and those with defaults may be missing

	scan     plainjson.Scanner
	path     []string // of the value, piece by piece
	problems []plainjson.Problem
	lacking  []string // of a lenient one: required fields that are not there
}

func (c *checker) report(format string, args ...any) {
	c.problems = append(c.problems, plainjson.Problem{Path: c.at(0), Message: fmt.Sprintf(format, args...)})
}

// at returns the path of the value, or of one that is around it.
func (c *checker) at(outer int) string {
	return strings.TrimPrefix(strings.Join(c.path[:len(c.path)-outer], ""), ".")
}

// within steps into a part of the value.
func (c *checker) within(piece string, step func()) {
	c.path = append(c.path, piece)
	step()
	c.path = c.path[:len(c.path)-1]
}

// expects steps over a value of another kind and reports it. For decoders, null is of every kind.
func (c *checker) expects(want, typeText string) bool {
	got := c.scan.Next()
	if got == want {
		return true
	}
	c.scan.Value()
	if got == "null" && c.lenient {
		return false
	}
	if typeText, _ = catalog.CutMark(typeText); typeText != "" && typeText != "string" {
		want += " (" + typeText + ")"
	}
	c.report("want %s, got %s", want, got)
	return false
}

// object checks a payload, or a value of a struct type.
func (c *checker) object(fields []*catalog.Field) {
	switch {
	case !c.expects("an object", ""):
	case c.lenient:
		c.decodedObject(fields)
	default:
		c.strictObject(fields)
	}
}

func (c *checker) strictObject(fields []*catalog.Field) {
	seen := map[*catalog.Field]string{} // the key under which each field is there
	c.scan.Entries(func(raw json.RawMessage) {
		key := plainjson.Unquote(raw)
		i := slices.IndexFunc(fields, func(f *catalog.Field) bool { return f.Name.V == key || c.stored && wasCalled(f, key) })
		c.within("."+key, func() {
			if i < 0 {
				c.scan.Value()
				c.report("%s", unknownField(fields, key))
				return
			}
			f := fields[i]
			if other, twice := seen[f]; twice && other != key {
				c.report("is field %s, which is there as %s already", f.Name.V, other)
			}
			seen[f] = key
			c.field(f)
		})
	})
	for _, f := range fields {
		_, there := seen[f]
		if !there && !f.Type.Optional && !(c.stored && f.Default.Written()) {
			c.within("."+f.Name.V, func() { c.report("is missing (%s)", f.Type.WireText()) })
		}
	}
}

func unknownField(fields []*catalog.Field, name string) string {
	var names []string
	for _, f := range fields {
		if wasCalled(f, name) {
			return "there is no such field; it is called " + f.Name.V
		}
		names = append(names, f.Name.V)
	}
	if hint := diag.DidYouMean(name, names); hint != "" {
		return "there is no such field; " + hint
	}
	return "there is no such field"
}

// wasCalled reports whether a field had a name.
func wasCalled(f *catalog.Field, name string) bool {
	return slices.ContainsFunc(f.Was, func(was catalog.Value[string]) bool { return was.V == name })
}

// decodedObject decodes a key twice that is there twice.
func (c *checker) decodedObject(fields []*catalog.Field) {
	names := c.storedNames(fields)
	seen := map[*catalog.Field]bool{}
	c.scan.Entries(func(raw json.RawMessage) {
		key := plainjson.Unquote(raw)
		i := slices.IndexFunc(fields, func(f *catalog.Field) bool { return cmp.Or(names[f], f.Name.V) == key })
		if i < 0 {
			i = slices.IndexFunc(fields, func(f *catalog.Field) bool { return strings.EqualFold(cmp.Or(names[f], f.Name.V), key) })
		}
		if i < 0 {
			c.scan.Value()
			return
		}
		seen[fields[i]] = true
		c.within("."+fields[i].Name.V, func() { c.value(fields[i].Type) })
	})
	for _, f := range fields {
		if !seen[f] && !f.Type.MayBeNil() && !f.Default.Written() {
			c.within("."+f.Name.V, func() { c.lacking = append(c.lacking, c.at(0)) })
		}
	}
}

// storedNames returns the former names under which decoders read fields of the object that comes next:
// the first that is there, unless the present one is.
func (c *checker) storedNames(fields []*catalog.Field) map[*catalog.Field]string {
	if !slices.ContainsFunc(fields, func(f *catalog.Field) bool { return f.Was != nil }) {
		return nil
	}
	var keys []string
	ahead := c.scan
	ahead.Entries(func(key json.RawMessage) {
		keys = append(keys, plainjson.Unquote(key))
		ahead.Value()
	})
	there := func(name string) bool {
		return slices.ContainsFunc(keys, func(key string) bool {
			return key == name || strings.EqualFold(key, name) && !slices.ContainsFunc(fields, func(f *catalog.Field) bool { return f.Name.V == key })
		})
	}
	names := map[*catalog.Field]string{}
	for _, f := range fields {
		if there(f.Name.V) {
			continue
		}
		for _, was := range f.Was {
			if there(was.V) {
				names[f] = was.V
				break
			}
		}
	}
	return names
}

// field checks the value of a field and, if that has its type, its constraints.
func (c *checker) field(f *catalog.Field) {
	before := len(c.problems)
	c.scan.Next()
	raw := c.scan.Rest
	c.value(f.Type)
	raw = raw[:len(raw)-len(c.scan.Rest)]
	if len(c.problems) == before && !(f.Type.MayBeNil() && string(raw) == "null") {
		c.constraints(f.Type, f.Constraints, raw)
	}
}

// value checks one value of any type. In a strict check, null stands for an optional or nullable field without a
// value, and for what is nil in Go.
func (c *checker) value(t *catalog.TypeRef) {
	mayBeNull := t.MayBeNil() || t.IsCollection() || t.Kind == catalog.Bytes
	if c.scan.Next() == "null" && mayBeNull {
		c.scan.Value()
		return
	}
	switch t = t.JSONType(); {
	case t.Kind == catalog.JSON:
		c.scan.Value()
	case t.Kind == catalog.List:
		if c.expects("a list", t.WireText()) {
			c.scan.Items(func(i int) { c.within("["+strconv.Itoa(i)+"]", func() { c.value(t.Elem) }) })
		}
	case t.Kind == catalog.Map:
		if c.expects("an object", t.WireText()) {
			c.scan.Entries(func(key json.RawMessage) {
				c.within(fmt.Sprintf("[%q]", plainjson.Unquote(key)), func() { c.value(t.Elem) })
			})
		}
	case t.IsUnion():
		c.union(t.Named)
	case t.IsStruct():
		c.object(t.Named.Fields)
	case t.Kind == catalog.Bytes && c.lenient && c.scan.Next() == "a list":
		c.scan.Items(func(i int) { c.within("["+strconv.Itoa(i)+"]", c.octet) }) // encoding/json takes that too
	default:
		c.scalar(t)
	}
}

// octet decodes one byte of a list of them.
func (c *checker) octet() {
	if c.expects("a number", "bytes") {
		if _, err := strconv.ParseUint(string(c.scan.Value()), 10, 8); err != nil {
			c.report("is not a byte")
		}
	}
}

// scalar checks a value that is one JSON token.
func (c *checker) scalar(t *catalog.TypeRef) {
	want := "a string"
	switch {
	case t.Kind == catalog.Bool:
		want = "true or false"
	case isNumeric(t):
		want = "a number"
	}
	if !c.expects(want, t.WireText()) {
		return
	}
	raw := c.scan.Value()
	noun := wrongToken(t, raw, c.lenient)
	switch {
	case noun == "":
	case c.lenient:
		c.report("is not %s", noun)
	case isNumeric(t):
		c.report("%s is not %s", raw, noun)
	default:
		c.report("%.60q is not %s", plainjson.Unquote(raw), noun)
	}
}

// union checks a value that says by its discriminator what it is. The last one counts.
func (c *checker) union(t *catalog.Type) {
	if !c.expects("an object", "") {
		return
	}
	whole := c.scan.Value()
	var name json.RawMessage
	outer := plainjson.Scanner{Rest: whole}
	outer.Entries(func(key json.RawMessage) {
		if value := outer.Value(); plainjson.Unquote(key) == t.Discriminator.V {
			name = value
		}
	})
	var names []string
	for _, v := range t.Variants {
		if name != nil && name[0] == '"' && plainjson.Unquote(name) == v.Name.V {
			c.variant(t, v, whole)
			return
		}
		names = append(names, v.Name.V)
	}
	c.within("."+t.Discriminator.V, func() {
		switch all := strings.Join(names, ", "); {
		case c.lenient:
			c.report("is not one of %s", all)
		case name == nil:
			c.report("is missing; it says which of %s this %s is", all, t.Name.V)
		default:
			c.report("is %.60s; it says which of %s this %s is", name, all, t.Name.V)
		}
	})
}

// variant checks the JSON of a value of a union that is of a variant.
func (c *checker) variant(t *catalog.Type, v *catalog.Variant, whole json.RawMessage) {
	fields := v.Type.Fields
	if !c.lenient {
		discriminator := &catalog.Field{Name: t.Discriminator, Type: &catalog.TypeRef{Kind: catalog.String, Text: "string"}}
		fields = append([]*catalog.Field{discriminator}, fields...)
	}
	rest := c.scan
	c.scan = plainjson.Scanner{Rest: whole}
	c.object(fields)
	c.scan = rest
}
