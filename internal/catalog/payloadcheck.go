package catalog

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/format"
	"github.com/busgen/busgen/internal/plainjson"
)

// UnknownEventError says that an event type is not in a catalogue.
type UnknownEventError struct {
	EventType string
	Catalogue string // the name of the file
	hint      string
}

// Error names the closest type that there is.
func (e *UnknownEventError) Error() string {
	text := fmt.Sprintf("event type %s is not in %s", e.EventType, e.Catalogue)
	if e.hint != "" {
		text += "; " + e.hint
	}
	return text
}

// PayloadError lists everything that is wrong with a payload.
type PayloadError struct {
	EventType string
	Problems  []PayloadProblem // in the order of the payload
}

// PayloadProblem is one thing that is wrong with a payload.
type PayloadProblem struct {
	Path    string // lines[2].price.currency; empty for the payload as a whole
	Message string
}

// String formats the problem as path: message.
func (p PayloadProblem) String() string {
	if p.Path == "" {
		return p.Message
	}
	return p.Path + ": " + p.Message
}

// Error joins the problems with semicolons.
func (e *PayloadError) Error() string {
	texts := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		texts[i] = p.String()
	}
	return strings.Join(texts, "; ")
}

// CheckPayload returns nil if the JSON is a payload of the given version that
// generated code decodes and finds valid. It is stricter than decoding: every
// required field without a default must be there, and no field that the catalogue does not
// know. A field may be there under a former name instead of its own. The
// error is a *[PayloadError] with all there is to say, or an *[UnknownEventError].
func (c *Catalogue) CheckPayload(eventType string, version int, payload []byte) error {
	e, err := c.event(eventType)
	if err != nil {
		return err
	}
	check := payloadCheck{stored: true}
	fields, known := e.FieldsOf(version)
	switch {
	case !known:
		check.report("", "%s", c.unknownVersion(e, version))
	case !json.Valid(payload):
		check.report("", "it is not JSON: %v", json.Unmarshal(payload, new(any)))
	default:
		for _, p := range plainjson.Check(payload) {
			check.report(p.Path, "%s", p.Message)
		}
		if len(check.problems) == 0 {
			check.object("", fields, payload)
		}
	}
	if len(check.problems) == 0 {
		return nil
	}
	return &PayloadError{EventType: eventType, Problems: check.problems}
}

// event finds an event type; the error is an *[UnknownEventError].
func (c *Catalogue) event(name string) (*Event, error) {
	if e := c.EventNamed(name); e != nil {
		return e, nil
	}
	var names []string
	for _, e := range c.Events {
		names = append(names, e.Name.V)
	}
	return nil, &UnknownEventError{EventType: name, Catalogue: c.File, hint: diag.DidYouMean(name, names)}
}

// unknownVersion says of a payload that nobody knows its version.
func (c *Catalogue) unknownVersion(e *Event, version int) string {
	return fmt.Sprintf("it has version %d; %s has version %d%s", version, c.File, e.Version.V, e.olderVersions())
}

// payloadCheck collects what is wrong with one payload, whose JSON is valid.
type payloadCheck struct {
	stored   bool // by any program: fields may have former names, and those with defaults may be missing
	problems []PayloadProblem
}

func (p *payloadCheck) report(path, format string, args ...any) {
	p.problems = append(p.problems, PayloadProblem{path, fmt.Sprintf(format, args...)})
}

// object checks a payload, or a value of a struct type.
func (p *payloadCheck) object(path string, fields []*Field, raw json.RawMessage) {
	if jsonKind(raw) != "an object" {
		p.report(path, "want an object, got %s", jsonKind(raw))
		return
	}
	seen := map[*Field]string{} // the key under which each field is there
	entries(raw, func(name string, value json.RawMessage) {
		at := joined(path, name)
		i := slices.IndexFunc(fields, func(f *Field) bool { return f.Name.V == name || p.stored && f.wasCalled(name) })
		if i < 0 {
			p.report(at, "%s", unknownField(fields, name))
			return
		}
		f := fields[i]
		if other, twice := seen[f]; twice && other != name {
			p.report(at, "is field %s, which is there as %s already", f.Name.V, other)
		}
		seen[f] = name
		p.field(at, f, value)
	})
	for _, f := range fields {
		_, there := seen[f]
		if !there && !f.Type.Optional && !(p.stored && f.Default.Written()) {
			p.report(joined(path, f.Name.V), "is missing (%s)", f.Type.Text)
		}
	}
}

func unknownField(fields []*Field, name string) string {
	var names []string
	for _, f := range fields {
		if f.wasCalled(name) {
			return "there is no such field; it is called " + f.Name.V
		}
		names = append(names, f.Name.V)
	}
	if hint := diag.DidYouMean(name, names); hint != "" {
		return "there is no such field; " + hint
	}
	return "there is no such field"
}

// field checks the value of a field.
func (p *payloadCheck) field(path string, f *Field, raw json.RawMessage) {
	before := len(p.problems)
	p.value(path, f.Type, raw)
	if len(p.problems) == before && !(f.Type.Optional && jsonKind(raw) == "null") {
		p.constraints(path, f, raw)
	}
}

// value checks one value of any type. Null stands for an optional field that is
// absent, and for what is nil in Go.
func (p *payloadCheck) value(path string, t *TypeRef, raw json.RawMessage) {
	kind := jsonKind(raw)
	if kind == "null" && (t.Optional || t.Kind == List || t.Kind == Map || t.Kind == Bytes) {
		return
	}
	switch t = t.wire(); t.Kind {
	case JSON:
	case List:
		if kind != "a list" {
			p.report(path, "want a list (%s), got %s", t.Text, kind)
			return
		}
		i := 0
		elements(raw, func(value json.RawMessage) {
			p.value(fmt.Sprintf("%s[%d]", path, i), t.Elem, value)
			i++
		})
	case Map:
		if kind != "an object" {
			p.report(path, "want an object (%s), got %s", t.Text, kind)
			return
		}
		entries(raw, func(key string, value json.RawMessage) {
			p.value(fmt.Sprintf("%s[%q]", path, key), t.Elem, value)
		})
	case Named:
		switch {
		case t.Named.IsEnum():
			p.scalar(path, t, kind, raw)
		case t.Named.IsUnion():
			p.union(path, t.Named, raw)
		default:
			p.object(path, t.Named.Fields, raw)
		}
	default:
		p.scalar(path, t, kind, raw)
	}
}

// scalar checks a value that is one JSON token.
func (p *payloadCheck) scalar(path string, t *TypeRef, kind string, raw json.RawMessage) {
	want, problem := "a text", ""
	switch {
	case t.Kind == Bool:
		want = "true or false"
	case t.isNumeric():
		want = "a number"
	}
	if kind != want {
		p.report(path, "want %s (%s), got %s", want, strings.TrimSuffix(t.Text, "?"), kind)
		return
	}
	switch want {
	case "a number":
		problem = numberProblem(t, string(raw))
	case "a text":
		var text string
		json.Unmarshal(raw, &text) // it is a text
		problem = textProblem(t, text)
	}
	if problem != "" {
		p.report(path, "%s", problem)
	}
}

// isNumeric tells whether a value of t is a number in JSON.
func (t *TypeRef) isNumeric() bool {
	switch t.Kind {
	case Int, Int32, Int64, Uint64, Float64:
		return true
	case Named:
		return t.Named.Integer
	}
	return false
}

func numberProblem(t *TypeRef, number string) string {
	if t.Kind == Named {
		return enumProblem(t.Named, number)
	}
	var err error
	switch t.Kind {
	case Int, Int64:
		_, err = strconv.ParseInt(number, 10, 64)
	case Int32:
		_, err = strconv.ParseInt(number, 10, 32)
	case Uint64:
		_, err = strconv.ParseUint(number, 10, 64)
	default:
		_, err = strconv.ParseFloat(number, 64)
	}
	if err == nil {
		return ""
	}
	return fmt.Sprintf("%s is not a value of %s", number, strings.TrimSuffix(t.Text, "?"))
}

func textProblem(t *TypeRef, text string) string {
	var err error
	want := ""
	switch t.Kind {
	case Bytes:
		_, err = base64.StdEncoding.DecodeString(text)
		want = "base64"
	case Time:
		err = new(time.Time).UnmarshalText([]byte(text))
		want = "a time, as in 2024-02-29T12:30:00Z"
	case Date:
		_, err = time.Parse(time.DateOnly, text)
		want = "a day, as in 2024-02-29"
	case Duration:
		_, err = time.ParseDuration(text)
		want = "a duration, as in 1h30m"
	case UUID:
		_, err = uuid.Parse(text)
		want = "a UUID"
	case Decimal:
		if !format.IsDecimal(text) {
			return fmt.Sprintf("%.60q is not a decimal, as in -12.50", text)
		}
	case Named:
		return enumProblem(t.Named, text)
	}
	if err == nil {
		return ""
	}
	return fmt.Sprintf("%.60q is not %s", text, want)
}

func enumProblem(t *Type, text string) string {
	var values []string
	for _, v := range t.Values {
		value := v.Name.V
		if t.Integer {
			value = strconv.Itoa(v.Number)
		}
		if value == text {
			return ""
		}
		values = append(values, value)
	}
	if !t.Integer {
		text = fmt.Sprintf("%.60q", text)
	}
	return fmt.Sprintf("%s is not a value of %s: use one of %s", text, t.Name.V, strings.Join(values, ", "))
}

// union checks a value that says by its discriminator what it is.
func (p *payloadCheck) union(path string, t *Type, raw json.RawMessage) {
	if jsonKind(raw) != "an object" {
		p.report(path, "want an object, got %s", jsonKind(raw))
		return
	}
	discriminator := &Field{Name: t.Discriminator, Type: &TypeRef{Kind: String, Text: "string"}}
	at, name := joined(path, t.Discriminator.V), json.RawMessage(nil)
	entries(raw, func(key string, value json.RawMessage) {
		if key == t.Discriminator.V {
			name = value
		}
	})
	var names []string
	for _, v := range t.Variants {
		if name != nil && unquoteJSON(name) == v.Name.V {
			p.object(path, append([]*Field{discriminator}, v.Type.Fields...), raw)
			return
		}
		names = append(names, v.Name.V)
	}
	problem := "is missing"
	if name != nil {
		problem = fmt.Sprintf("is %.60s", name)
	}
	p.report(at, "%s; it says which of %s this %s is", problem, strings.Join(names, ", "), t.Name.V)
}

// jsonKind says what a piece of JSON is.
func jsonKind(raw json.RawMessage) string {
	switch bytes.TrimSpace(raw)[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a text"
	case 'n':
		return "null"
	case 't', 'f':
		return "true or false"
	}
	return "a number"
}

// entries visits the entries of an object in their order, the same key twice
// if it is there twice.
func entries(raw json.RawMessage, visit func(key string, value json.RawMessage)) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.Token() // {, or the whole of null
	for d.More() {
		key, _ := d.Token()
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return // it is valid, so this does not happen
		}
		visit(key.(string), value)
	}
}

// elements visits the elements of a list.
func elements(raw json.RawMessage, visit func(value json.RawMessage)) {
	var all []json.RawMessage
	json.Unmarshal(raw, &all) // it is valid
	for _, one := range all {
		visit(one)
	}
}

func joined(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
