package cloudevents

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/busgen/busgen/internal/cloudevent"
)

// prefix is that of the headers of attributes, in the form in which [http.Header] has it.
const prefix = "Ce-"

// attributesOf returns the attributes of an event in binary mode, which are headers.
func attributesOf(header http.Header) (map[string]string, error) {
	attributes := map[string]string{}
	for key, values := range header {
		name, ok := strings.CutPrefix(key, prefix)
		if !ok {
			continue
		}
		name = strings.ToLower(name)
		switch {
		case len(values) > 1:
			return nil, &AttributeError{Attribute: shorten(name), Problem: fmt.Sprintf("there are %d headers of it", len(values))}
		case name == "datacontenttype":
			return nil, &AttributeError{Attribute: name, Problem: "in binary mode it is the header Content-Type, and no header of its own"}
		}
		value, problem := unescape(values[0])
		if name == "source" || name == "dataschema" {
			value, problem = uriOf(unquote(values[0]), value, problem)
		}
		if problem != "" {
			return nil, &AttributeError{Attribute: shorten(name), Problem: problem}
		}
		attributes[name] = value
	}
	if kind, ok := header["Content-Type"]; ok {
		attributes["datacontenttype"] = kind[0] // there is only one
	}
	return attributes, nil
}

// setAttributes sets the headers of binary mode.
func setAttributes(header http.Header, e *Event) {
	header.Set(prefix+"Specversion", "1.0")
	e.visit(func(name, value string) { header.Set(prefix+name, escape(value)) })
	if e.Data != nil {
		header.Set("Content-Type", "application/json")
	}
}

// escape writes a value as the HTTP binding says, section 3.1.3.2: spaces, quotes, percent signs
// and all that is not printable ASCII as %XY.
func escape(value string) string {
	var b strings.Builder
	for i := range len(value) {
		if c := value[i]; c <= ' ' || c >= 0x7F || c == '"' || c == '%' {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// uriOf returns the URI that a header has. The binding demands a code for each percent sign, so a URI
// that follows it has no other code than %25: it consists of characters that need none. Some senders,
// among them the SDK for Go, write URIs as they are. Then their codes are part of them, as in the other
// modes. Only a URI that would not be absolute with its codes is taken for one that has more
// codes than it needs.
func uriOf(raw, decoded, problem string) (uri, wrong string) {
	codes := strings.Count(raw, "%")
	follows := codes == strings.Count(raw, "%25") && cloudevent.IsReference(decoded)
	if follows || !cloudevent.IsReference(raw) || cloudevent.IsReference(decoded) && cloudevent.IsAbsolute(decoded) && !cloudevent.IsAbsolute(raw) {
		return decoded, problem
	}
	return raw, ""
}

// unquote reads what older versions of the binding allow: a text in double quotes.
func unquote(value string) string {
	n := len(value)
	if n < 2 || value[0] != '"' || value[n-1] != '"' {
		return value
	}
	var b strings.Builder
	inside := value[1 : n-1]
	for i := 0; i < len(inside); i++ {
		if inside[i] == '\\' && i+1 < len(inside) {
			i++
		}
		b.WriteByte(inside[i])
	}
	return b.String()
}

// unescape reads what escape writes, and texts in quotes. A percent sign that begins no code stands
// for itself, because some senders, among them the SDK for Go, do not escape anything.
func unescape(value string) (text, problem string) {
	value = unquote(value)
	var b strings.Builder
	for i := 0; i < len(value); i++ {
		if value[i] != '%' || !cloudevent.IsCode(value[i:]) {
			b.WriteByte(value[i])
			continue
		}
		code, _ := strconv.ParseUint(value[i+1:i+3], 16, 8) // it is one
		b.WriteByte(byte(code))
		i += 2
	}
	if text = b.String(); !utf8.ValidString(text) {
		return "", "it is not valid UTF-8"
	}
	return text, ""
}
