// Package cloudevent has the rules of CloudEvents (version 1.0.2) for what a catalogue says of them, and for
// URIs. The compiler and the runtime share it.
package cloudevent

import (
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// IsReference tells whether a text is a URI reference. It has ASCII only, as RFC 3986 says: so there is one
// way to write it, also in the headers of HTTP.
func IsReference(text string) bool {
	for i := range len(text) {
		if c := text[i]; c <= ' ' || c >= 0x7F || strings.IndexByte("\"<>\\^`{|}", c) >= 0 || c == '%' && !IsCode(text[i:]) {
			return false
		}
	}
	_, err := url.Parse(text)
	return err == nil
}

// IsAbsolute tells whether a text is an absolute URI.
func IsAbsolute(text string) bool {
	uri, err := url.Parse(text)
	return err == nil && uri.IsAbs() && IsReference(text)
}

// IsCode tells whether a text begins with a percent code.
func IsCode(text string) bool {
	return len(text) > 2 && text[0] == '%' && strings.Trim(text[1:3], "0123456789abcdefABCDEF") == ""
}

// MaxLength is how many bytes a name has at most: those of an event must fit the limit of an attribute.
const MaxLength = 1000

// CheckSource says why a text cannot be the source of events; empty if it can.
func CheckSource(source string) string {
	switch {
	case len(source) > MaxLength:
		return tooLong
	case !IsReference(source):
		return "it is not a URI reference, which is made of ASCII, with percent codes for all other characters"
	}
	return ""
}

// CheckTypePrefix says why a text cannot be what types begin with; empty if it can.
func CheckTypePrefix(prefix string) string {
	switch {
	case len(prefix) > MaxLength:
		return tooLong
	case !utf8.ValidString(prefix) || strings.ContainsFunc(prefix, func(c rune) bool { return unicode.IsControl(c) || unicode.IsSpace(c) }):
		return "it has blanks, or characters that a text cannot have"
	}
	return ""
}

// CheckDataSchema says why a text cannot be the dataschema of events; empty if it can.
func CheckDataSchema(schema string) string {
	switch {
	case len(schema) > MaxLength:
		return tooLong
	case !IsAbsolute(DataSchema(schema, "order.placed", 1)):
		return "it is not an absolute URI; {type} stands for the event type and {version} for the version of its payload, and nothing else is in braces"
	}
	return ""
}

var tooLong = "it has more than " + strconv.Itoa(MaxLength) + " bytes"

// DataSchema returns the dataschema of an event type and a version of its payload.
func DataSchema(schema, eventType string, version int) string {
	return strings.NewReplacer("{type}", url.PathEscape(eventType), "{version}", strconv.Itoa(max(version, 1))).Replace(schema)
}
