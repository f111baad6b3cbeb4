package cloudevents

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"
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
		if problem != "" {
			return nil, &AttributeError{Attribute: shorten(name), Problem: problem}
		}
		attributes[name] = value
	}
	switch kinds := header.Values("Content-Type"); len(kinds) {
	case 0:
	case 1:
		attributes["datacontenttype"] = kinds[0]
	default:
		return nil, &AttributeError{Attribute: "datacontenttype", Problem: "there are several headers Content-Type"}
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

// unescape reads what escape writes, and what older versions of the binding allow: a text in
// double quotes. A percent sign that begins no code stands for itself, because some senders, among
// them the SDK for Go, do not escape anything.
func unescape(value string) (text, problem string) {
	if n := len(value); n >= 2 && value[0] == '"' && value[n-1] == '"' {
		var b strings.Builder
		inside := value[1 : n-1]
		for i := 0; i < len(inside); i++ {
			if inside[i] == '\\' && i+1 < len(inside) {
				i++
			}
			b.WriteByte(inside[i])
		}
		value = b.String()
	}
	var b strings.Builder
	for i := 0; i < len(value); i++ {
		if value[i] != '%' {
			b.WriteByte(value[i])
			continue
		}
		code, err := strconv.ParseUint(value[min(i+1, len(value)):min(i+3, len(value))], 16, 8)
		if err != nil || i+2 >= len(value) {
			b.WriteByte('%')
			continue
		}
		b.WriteByte(byte(code))
		i += 2
	}
	if text = b.String(); !utf8.ValidString(text) {
		return "", "it is not valid UTF-8"
	}
	return text, ""
}
