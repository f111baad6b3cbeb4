package catalog

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// CheckDecode returns nil if generated code decodes the JSON of a stored event.
// Decoding is lenient, so that events of other versions of the catalogue can be
// read: fields that are not known are passed over, those that are missing have their
// default or are zero, those that were renamed are found under their former names, the case of keys does not count, null is nothing, enums take every text or whole
// number, and constraints are not looked at. What a custom Go type accepts is its
// own affair; it is taken to accept the form that is declared for it.
//
// The error is a *[PayloadError] whose messages do not quote the payload, or an
// *[UnknownEventError].
func (c *Catalogue) CheckDecode(eventType string, version int, payload []byte) error {
	e, err := c.event(eventType)
	if err != nil {
		return err
	}
	check := decodeCheck{scan: jsonScan{data: payload}}
	fields, known := e.FieldsOf(version)
	switch {
	case !known:
		check.report("%s", c.unknownVersion(e, version))
	case !json.Valid(payload):
		check.report("it is not JSON")
	default:
		check.object(fields)
	}
	if len(check.problems) == 0 {
		return nil
	}
	return &PayloadError{EventType: eventType, Problems: check.problems}
}

// decodeCheck decodes JSON that is valid the way generated code does, without
// values to decode it into.
type decodeCheck struct {
	scan     jsonScan
	path     []string // of the value, piece by piece
	problems []PayloadProblem
}

func (d *decodeCheck) report(format string, args ...any) {
	path := strings.TrimPrefix(strings.Join(d.path, ""), ".")
	d.problems = append(d.problems, PayloadProblem{path, fmt.Sprintf(format, args...)})
}

// within steps into a part of the value.
func (d *decodeCheck) within(piece string, step func()) {
	d.path = append(d.path, piece)
	step()
	d.path = d.path[:len(d.path)-1]
}

// expects steps over a value of another kind, and null is of every kind: it leaves
// the Go value as it is.
func (d *decodeCheck) expects(want, typeText string) bool {
	got := d.scan.next()
	if got == want {
		return true
	}
	d.scan.value()
	if got == "null" {
		return false
	}
	if typeText != "" {
		want += " (" + strings.TrimSuffix(typeText, "?") + ")"
	}
	d.report("want %s, got %s", want, got)
	return false
}

// object decodes a struct. A key that is there twice is decoded twice.
func (d *decodeCheck) object(fields []*Field) {
	if !d.expects("an object", "") {
		return
	}
	names := d.storedNames(fields)
	d.scan.entries(func(key string) {
		i := slices.IndexFunc(fields, func(f *Field) bool { return strings.EqualFold(cmp.Or(names[f], f.Name.V), key) })
		if i < 0 {
			d.scan.value()
			return
		}
		d.within("."+fields[i].Name.V, func() { d.value(fields[i].Type) })
	})
}

// storedNames are the former names under which fields are read from the object that comes next:
// the first that is there, unless the present one is.
func (d *decodeCheck) storedNames(fields []*Field) map[*Field]string {
	if !slices.ContainsFunc(fields, func(f *Field) bool { return f.Was != nil }) {
		return nil
	}
	var keys []string
	ahead := d.scan
	ahead.entries(func(key string) {
		keys = append(keys, key)
		ahead.value()
	})
	there := func(name string) bool {
		return slices.ContainsFunc(keys, func(key string) bool { return strings.EqualFold(key, name) })
	}
	names := map[*Field]string{}
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

func (d *decodeCheck) value(t *TypeRef) {
	switch t = t.wire(); {
	case t.Kind == JSON:
		d.scan.value()
	case t.Kind == List:
		if d.expects("a list", t.Text) {
			d.scan.items(func(i int) { d.within(fmt.Sprintf("[%d]", i), func() { d.value(t.Elem) }) })
		}
	case t.Kind == Map:
		if d.expects("an object", t.Text) {
			d.scan.entries(func(key string) { d.within(fmt.Sprintf("[%q]", key), func() { d.value(t.Elem) }) })
		}
	case t.Kind == Named && t.Named.IsUnion():
		d.union(t.Named)
	case t.Kind == Named && t.Named.IsStruct():
		d.object(t.Named.Fields)
	case t.Kind == Bytes && d.scan.next() == "a list":
		d.scan.items(func(i int) { d.within(fmt.Sprintf("[%d]", i), d.octet) }) // encoding/json takes that too
	default:
		d.scalar(t)
	}
}

// scalar decodes a value that is one JSON token.
func (d *decodeCheck) scalar(t *TypeRef) {
	want := "a text"
	switch {
	case t.Kind == Bool:
		want = "true or false"
	case t.isNumeric():
		want = "a number"
	}
	if !d.expects(want, t.Text) {
		return
	}
	if problem := tokenProblem(t, d.scan.value()); problem != "" {
		d.report("%s", problem)
	}
}

// tokenProblem says why a token of the right kind does not fit.
func tokenProblem(t *TypeRef, raw json.RawMessage) string {
	switch {
	case t.isNumeric():
		kind := t.Kind
		if kind == Named {
			kind = Int // of an enum
		}
		if numberProblem(&TypeRef{Kind: kind}, string(raw)) != "" {
			return "is not a value of " + strings.TrimSuffix(t.Text, "?")
		}
	case t.Kind == Bytes:
		if _, err := base64.StdEncoding.DecodeString(unquoteJSON(raw)); err != nil {
			return "is not base64"
		}
	case t.Kind == Time:
		if new(time.Time).UnmarshalJSON(raw) != nil {
			return "is not a time, as in 2024-02-29T12:30:00Z"
		}
	case t.Kind == Date || t.Kind == Duration || t.Kind == UUID:
		if textProblem(t, unquoteJSON(raw)) != "" {
			return "is not a value of " + strings.TrimSuffix(t.Text, "?")
		}
	}
	return ""
}

// octet decodes one byte of a list of them.
func (d *decodeCheck) octet() {
	if d.expects("a number", "bytes") {
		if _, err := strconv.ParseUint(string(d.scan.value()), 10, 8); err != nil {
			d.report("is not a byte")
		}
	}
}

// union decodes a value that says by its discriminator what it is.
func (d *decodeCheck) union(t *Type) {
	if !d.expects("an object", t.Name.V) {
		return
	}
	whole := d.scan.value()
	var name json.RawMessage
	outer := jsonScan{data: whole}
	outer.entries(func(key string) {
		if value := outer.value(); key == t.Discriminator.V {
			name = value
		}
	})
	var names []string
	for _, v := range t.Variants {
		if name != nil && jsonKind(name) == "a text" && unquoteJSON(name) == v.Name.V {
			rest := d.scan
			d.scan = jsonScan{data: whole}
			d.object(v.Type.Fields)
			d.scan = rest
			return
		}
		names = append(names, v.Name.V)
	}
	d.within("."+t.Discriminator.V, func() { d.report("is not one of %s", strings.Join(names, ", ")) })
}
