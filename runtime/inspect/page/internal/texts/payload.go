package texts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf16"

	"github.com/busgen/busgen/internal/words"
)

// MostParsed is the size from which on a payload is shown as it is stored, without its fields.
const MostParsed = 256 << 10

// MostValue is how long a value of a payload is that is shown on one line, in bytes.
const MostValue = 160

// Pretty writes JSON on several lines. What is none, or is huge, stays as it is.
func Pretty(text []byte) string {
	var b bytes.Buffer
	if len(text) > MostParsed || json.Indent(&b, text, "", "  ") != nil {
		return string(text)
	}
	return b.String()
}

// Brief is a value on one line.
func Brief(value []byte) string {
	var b bytes.Buffer
	if json.Compact(&b, value) != nil {
		return ""
	}
	return Clip(b.String(), MostValue)
}

// BriefText is the beginning of a payload on one line.
func BriefText(payload []byte) string {
	if len(payload) > MostParsed {
		return Clip(string(payload), MostValue)
	}
	if text := Brief(payload); text != "" {
		return text
	}
	return Clip(string(payload), MostValue)
}

// Editable is a payload in which each character shows itself: JSON has escapes for all
// others, and they mean the same.
func Editable(payload []byte) string {
	var b strings.Builder
	for _, c := range string(payload) {
		if c == '\n' || c == '\t' || words.Printable(c) {
			b.WriteRune(c)
			continue
		}
		for _, unit := range utf16.Encode([]rune{c}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}
