package cloudevents

import (
	"fmt"
	"mime"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/busgen/busgen/internal/cloudevent"
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

// textual are the extensions that the specification describes as texts that are not empty, and that
// mean something to this package.
var textual = []string{"partitionkey", "sequence", "correlationid", "causationid", "traceparent"}

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
	case value == "" && slices.Contains([]string{"id", "source", "type"}, name):
		problem = "it is empty, and is required"
	case value == "" && (name != "datacontenttype" && slices.Contains(ownAttributes, name) || slices.Contains(textual, name)):
		problem = "it is empty: leave it out, or set it"
	case name == "source" && !cloudevent.IsReference(value):
		problem = "it is not a URI reference: " + asciiOnly
	case name == "dataschema" && !cloudevent.IsAbsolute(value):
		problem = "it is not an absolute URI: " + asciiOnly
	case name == "time" && !isTime(value):
		problem = "it is not a time of RFC 3339, such as 2026-03-14T12:30:00Z"
	case name == "traceparent" && !isTraceParent(value):
		problem = "it is not one of W3C Trace Context, such as 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	}
	if problem != "" {
		return &AttributeError{Attribute: name, Problem: problem}
	}
	return nil
}

const asciiOnly = "it is made of ASCII, with percent codes for all other characters"

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

// isHex tells whether a text has digits and small letters of hexadecimal numbers only.
func isHex(text string) bool { return strings.Trim(text, "0123456789abcdef") == "" }

var timeForm = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

// isTime tells whether a text is a time of RFC 3339. Package time knows no leap seconds, and takes
// more than the RFC.
func isTime(value string) bool {
	value = strings.ToUpper(value)
	if !timeForm.MatchString(value) {
		return false
	}
	const seconds = len("2006-01-02T15:04:")
	leap := value[seconds:seconds+2] == "60"
	if leap {
		value = value[:seconds] + "59" + value[seconds+2:]
	}
	at, err := time.Parse(time.RFC3339Nano, value)
	if err != nil || !leap {
		return err == nil
	}
	// There are some at the end of a month only.
	at = at.UTC()
	return at.Hour() == 23 && at.Minute() == 59 && at.AddDate(0, 0, 1).Day() == 1
}

// isTraceParent tells whether a text is a traceparent of W3C Trace Context. Of a version that is not
// known yet it is what that of version 00 begins with.
func isTraceParent(value string) bool {
	parts := strings.SplitN(value, "-", 5)
	if len(parts) < 4 || len(parts) == 5 && parts[0] == "00" {
		return false
	}
	for i, length := range []int{2, 32, 16, 2} {
		if len(parts[i]) != length || !isHex(parts[i]) {
			return false
		}
	}
	return parts[0] != "ff" && strings.Trim(parts[1], "0") != "" && strings.Trim(parts[2], "0") != ""
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
