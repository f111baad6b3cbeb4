package wire

import (
	"bytes"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// appendString appends s with quotes and escapes.
func appendString(dst []byte, s string) []byte {
	plain := bareInHTMLLength([]byte(s))
	dst = append(dst, '"')
	dst = append(dst, s[:plain]...)
	if plain < len(s) {
		dst = appendEscaped(dst, s[plain:])
	}
	return append(dst, '"')
}

// appendEscaped appends s with escapes, without quotes.
func appendEscaped(dst []byte, s string) []byte {
	done := 0
	for i := 0; i < len(s); {
		if bareInHTML[s[i]] {
			i += bareInHTMLLength([]byte(s[i:]))
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if needsEscape(r, size) {
			dst = append(dst, s[done:i]...)
			dst = appendEscape(dst, r)
			done = i + size
		}
		i += size
	}
	return append(dst, s[done:]...)
}

// needsEscape reports whether r, decoded from size bytes, must be escaped. U+2028 and
// U+2029 are escaped because they end a line in JavaScript.
func needsEscape(r rune, size int) bool {
	return r < utf8.RuneSelf && !bareInHTML[r] || r == '\u2028' || r == '\u2029' || r == utf8.RuneError && size == 1
}

// appendEscape appends a rune that needs an escape.
func appendEscape(dst []byte, r rune) []byte {
	const hex = "0123456789abcdef"
	switch r {
	case '"', '\\':
		return append(dst, '\\', byte(r))
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	return append(dst, '\\', 'u', hex[r>>12&0xf], hex[r>>8&0xf], hex[r>>4&0xf], hex[r&0xf])
}

// plainText reports whether text needs no escapes.
func plainText(text []byte) bool {
	for i := 0; i < len(text); {
		if bareInHTML[text[i]] {
			i += bareInHTMLLength(text[i:])
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		if needsEscape(r, size) {
			return false
		}
		i += size
	}
	return true
}

// unescape replaces the escapes in a quoted string. It returns false at an escape that
// it does not support. It does not support surrogates, because encoding/json never
// writes them.
func unescape(quoted []byte) (text string, ok bool) {
	var b strings.Builder
	b.Grow(len(quoted))
	for {
		escape := bytes.IndexByte(quoted, '\\')
		if escape < 0 {
			b.Write(quoted)
			return b.String(), true
		}
		b.Write(quoted[:escape])
		quoted = quoted[escape+1:]
		r, size := unescapeRune(quoted)
		if size == 0 {
			return "", false
		}
		b.WriteRune(r)
		quoted = quoted[size:]
	}
}

// unescapeRune reads the escape after a backslash. It returns size 0 for an escape that
// it does not support.
func unescapeRune(s []byte) (r rune, size int) {
	if len(s) == 0 {
		return 0, 0
	}
	switch s[0] {
	case '"', '\\', '/':
		return rune(s[0]), 1
	case 'b':
		return '\b', 1
	case 'f':
		return '\f', 1
	case 'n':
		return '\n', 1
	case 'r':
		return '\r', 1
	case 't':
		return '\t', 1
	case 'u':
		if r, ok := hexRune(s[1:]); ok && !utf16.IsSurrogate(r) {
			return r, 5
		}
	}
	return 0, 0
}

// hexRune reads four hexadecimal digits.
func hexRune(s []byte) (r rune, ok bool) {
	if len(s) < 4 {
		return 0, false
	}
	for _, c := range s[:4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
