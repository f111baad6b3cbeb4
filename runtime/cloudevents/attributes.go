package cloudevents

import (
	"fmt"
	"mime"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// AttributeError says which attribute of a CloudEvent is wrong, and why.
type AttributeError struct {
	Attribute string // its name; in JSON possibly a path into the data; empty for all of them
	Problem   string // in words
}

// Error names the attribute.
func (e *AttributeError) Error() string {
	if e.Attribute == "" {
		return e.Problem
	}
	return fmt.Sprintf("attribute %q: %s", e.Attribute, e.Problem)
}

// DataError says what is wrong with the data of a CloudEvent, or with the text of the event as a
// whole. It is not about the fields of the payload: that is a *[runtime.InvalidPayloadError].
type DataError struct {
	Problem     string // in words
	Unsupported bool   // the data is of another media type than JSON
}

// Error returns the problem.
func (e *DataError) Error() string { return e.Problem }

// checkVersion checks specversion first: what else there is depends on it.
func checkVersion(attributes map[string]string) error {
	version, ok := attributes["specversion"]
	switch {
	case !ok:
		return &AttributeError{Attribute: "specversion", Problem: "it is missing, and is required: this is no CloudEvent"}
	case version != "1.0":
		return &AttributeError{Attribute: "specversion", Problem: fmt.Sprintf("it is %.20q, and only 1.0 is known", version)}
	}
	return nil
}

// checkAttribute checks the name and the value of one attribute.
func checkAttribute(name, value string) error {
	problem := ""
	switch {
	case !isName(name):
		return &AttributeError{Attribute: shorten(name), Problem: fmt.Sprintf("a name has 1 to %d lower-case letters and digits", maxName)}
	case len(value) > maxValue:
		problem = fmt.Sprintf("it has %d bytes, and at most %d are taken", len(value), maxValue)
	case !isText(value):
		problem = "it has bytes that are not UTF-8, or characters that are not allowed in texts"
	case value == "" && name != "datacontenttype" && slices.Contains(ownAttributes, name):
		problem = "it is empty: leave it out, or set it"
		if slices.Contains([]string{"id", "source", "type"}, name) {
			problem = "it is empty, and is required"
		}
	case name == "source" && !isReference(value):
		problem = "it is not a URI reference"
	case name == "dataschema" && !(isReference(value) && isAbsolute(value)):
		problem = "it is not an absolute URI"
	case name == "time" && !isTime(value):
		problem = "it is not a time of RFC 3339, such as 2026-03-14T12:30:00Z"
	}
	if problem != "" {
		return &AttributeError{Attribute: name, Problem: problem}
	}
	return nil
}

// isName tells whether an attribute can have the name; data is no attribute.
func isName(name string) bool {
	if name == "" || len(name) > maxName || name == "data" {
		return false
	}
	for i := range len(name) {
		if c := name[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// isText tells whether a text has only characters that the specification allows.
func isText(value string) bool {
	return utf8.ValidString(value) && !strings.ContainsFunc(value, func(c rune) bool {
		return unicode.IsControl(c) || c&0xFFFE == 0xFFFE || 0xFDD0 <= c && c <= 0xFDEF // not characters
	})
}

func isReference(value string) bool {
	_, err := url.Parse(value)
	return err == nil && !strings.ContainsAny(value, " \"<>\\^`{|}")
}

func isAbsolute(value string) bool {
	uri, err := url.Parse(value)
	return err == nil && uri.IsAbs()
}

func isTime(value string) bool {
	_, err := time.Parse(time.RFC3339Nano, strings.ToUpper(value))
	return err == nil
}

// isJSON tells whether a media type is JSON: json, or something that ends in +json.
func isJSON(kind string) bool {
	media, params, err := mime.ParseMediaType(kind)
	if charset := params["charset"]; err != nil || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return false
	}
	_, subtype, _ := strings.Cut(media, "/")
	return subtype == "json" || strings.HasSuffix(subtype, "+json")
}
