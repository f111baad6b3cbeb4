package cloudevents

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/busgen/busgen/internal/plainjson"
)

// Event is a CloudEvent of version 1.0 whose data is JSON. The other content of attributes is
// kept as text.
type Event struct {
	ID         string // required; unique within the source
	Source     string // required; a URI reference
	Type       string // required
	Subject    string // empty for none, as the next two
	Time       string // RFC 3339
	DataSchema string // an absolute URI
	// Extensions are all other attributes, by name. Numbers and truth values are kept as text.
	Extensions map[string]string
	// Data is JSON; nil for none.
	Data json.RawMessage
}

// Limits of the specification and of this package.
const (
	maxName       = 64   // bytes of the name of an attribute; the specification advises 20
	maxValue      = 4096 // bytes of the value of an attribute
	maxExtensions = 50
)

// The attributes that are not extensions.
var ownAttributes = []string{"specversion", "id", "source", "type", "subject", "time", "dataschema", "datacontenttype"}

// MarshalJSON writes the event in the JSON format of CloudEvents, in one line.
func (e Event) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(`{"specversion":"1.0"`)
	e.visit(func(name, value string) { fmt.Fprintf(&b, `,%s:%s`, plainjson.Quote(name), plainjson.Quote(value)) })
	if e.Data != nil {
		b.WriteString(`,"datacontenttype":"application/json","data":`)
		if err := json.Compact(&b, e.Data); err != nil {
			return nil, fmt.Errorf("the data of event %s is not JSON: %w", e.ID, err)
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// visit calls f for each attribute that is set, but for specversion and datacontenttype.
func (e *Event) visit(f func(name, value string)) {
	for _, a := range []struct{ name, value string }{
		{"id", e.ID}, {"source", e.Source}, {"type", e.Type}, {"subject", e.Subject}, {"time", e.Time}, {"dataschema", e.DataSchema},
	} {
		if a.value != "" {
			f(a.name, a.value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(e.Extensions)) {
		f(name, e.Extensions[name])
	}
}

// UnmarshalJSON reads an event in the JSON format of CloudEvents, with data or data_base64, and
// checks it. The error is an *[AttributeError] or a *[DataError], if it is JSON at all.
func (e *Event) UnmarshalJSON(text []byte) error {
	for _, p := range plainjson.Check(text) {
		return &AttributeError{Attribute: p.Path, Problem: p.Message}
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil || members == nil {
		return &DataError{Problem: "this is not a JSON object: " + reason(err, "it is null")}
	}
	data, hasData := members["data"]
	encoded, hasEncoded := members["data_base64"]
	delete(members, "data")
	delete(members, "data_base64")
	attributes := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		value, set, err := attributeOf(name, members[name])
		if err != nil {
			return err
		}
		if set {
			attributes[name] = value
		}
	}
	hasEncoded = hasEncoded && string(encoded) != "null"
	switch {
	case hasData && hasEncoded:
		return &DataError{Problem: "there is data and data_base64: leave one out"}
	case hasEncoded:
		var raw []byte
		var inBase64 string
		err := json.Unmarshal(encoded, &inBase64)
		if err == nil {
			raw, err = base64.StdEncoding.DecodeString(inBase64)
		}
		if err != nil {
			return &DataError{Problem: "data_base64 is not a text in base64: " + err.Error()}
		}
		if _, typed := attributes["datacontenttype"]; !typed {
			return &DataError{Problem: "data_base64 without datacontenttype is not known to be JSON: add datacontenttype, or send data"}
		}
		data, hasData = raw, true
	}
	if !hasData {
		data = nil
	}
	return e.fill(attributes, data)
}

// attributeOf returns the text of an attribute in JSON.
func attributeOf(name string, raw json.RawMessage) (value string, set bool, err error) {
	switch raw[0] {
	case 'n': // null stands for none
		return "", false, nil
	case '"':
		err = json.Unmarshal(raw, &value)
	case 't', 'f':
		value = string(raw)
	case '{', '[':
		err = errors.New("it is neither a text nor a number nor a truth value")
	default:
		value = string(raw)
		if n, wrong := strconv.ParseInt(value, 10, 32); wrong != nil || strconv.FormatInt(n, 10) != value {
			err = errors.New("it is a number that is not a whole one of 32 bits")
		}
	}
	if err != nil {
		return "", false, &AttributeError{Attribute: shorten(name), Problem: err.Error()}
	}
	if isText := slices.Contains(ownAttributes, name) || slices.Contains(textual, name); isText && raw[0] != '"' {
		return "", false, &AttributeError{Attribute: name, Problem: "it is not a text"}
	}
	return value, true, nil
}

// fill sets the event to attributes and data, and checks it.
func (e *Event) fill(attributes map[string]string, data []byte) error {
	if err := checkVersion(attributes); err != nil {
		return err
	}
	*e = Event{Data: data}
	own := map[string]*string{"id": &e.ID, "source": &e.Source, "type": &e.Type, "subject": &e.Subject, "time": &e.Time, "dataschema": &e.DataSchema}
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		value := attributes[name]
		if err := checkAttribute(name, value); err != nil {
			return err
		}
		switch field := own[name]; {
		case field != nil:
			*field = value
		case name == "specversion", name == "datacontenttype":
		case e.Extensions == nil:
			e.Extensions = map[string]string{name: value}
		default:
			e.Extensions[name] = value
		}
	}
	if len(e.Extensions) > maxExtensions {
		return &AttributeError{Attribute: "", Problem: fmt.Sprintf("there are %d extensions, and at most %d are taken", len(e.Extensions), maxExtensions)}
	}
	for _, name := range []string{"id", "source", "type"} {
		if *own[name] == "" {
			return &AttributeError{Attribute: name, Problem: "it is missing, and is required"}
		}
	}
	if kind, ok := attributes["datacontenttype"]; ok && !isJSON(kind) && data != nil {
		return &DataError{Unsupported: true, Problem: fmt.Sprintf("the data is %.100q: payloads are JSON, so send application/json", kind)}
	}
	if data != nil && !json.Valid(data) {
		return &DataError{Problem: "the data is not JSON: " + invalid(data)}
	}
	return nil
}

// invalid says why a text is not JSON.
func invalid(text []byte) string {
	var value any
	return reason(json.Unmarshal(text, &value), "")
}

func reason(err error, otherwise string) string {
	if err == nil {
		return otherwise
	}
	return err.Error()
}

func shorten(name string) string {
	if len(name) > maxName {
		return name[:maxName] + "…"
	}
	return name
}
