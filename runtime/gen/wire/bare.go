package wire

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// bare has the bytes that need no escape in a JSON string: ASCII without control
// characters, quotes and backslashes. bareInHTML also excludes the characters that
// encoding/json escapes so that browsers do not read them as HTML.
var bare, bareInHTML [256]bool

func init() {
	for c := ' '; c < utf8.RuneSelf; c++ {
		bare[c] = c != '"' && c != '\\'
		bareInHTML[c] = bare[c] && c != '<' && c != '>' && c != '&'
	}
}

// bareLength returns how many bytes at the start of text are bare.
func bareLength(text []byte) int {
	i := 0
	for ; i+8 <= len(text); i += 8 {
		if found := notBare(binary.LittleEndian.Uint64(text[i:])); found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for i < len(text) && bare[text[i]] {
		i++
	}
	return i
}

// bareInHTMLLength returns how many bytes at the start of text are bare in HTML.
func bareInHTMLLength(text []byte) int {
	if len(text) < 8 {
		i := 0
		for i < len(text) && bareInHTML[text[i]] {
			i++
		}
		return i
	}
	for i := 0; ; {
		if found := notBareInHTML(binary.LittleEndian.Uint64(text[i:])); found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
		if i += 8; i == len(text) {
			return i
		}
		i = min(i, len(text)-8)
	}
}

// The functions below look at eight bytes at once, as one number whose lowest byte is the first. Each byte of the
// result has its highest bit set if the byte is not bare. A byte after the first of those may have it by mistake,
// because a subtraction borrows from the next byte.

const (
	ones  uint64 = 0x01_01_01_01_01_01_01_01
	highs uint64 = 0x80 * ones
)

func notBare(eight uint64) uint64 {
	notASCII := eight
	control := eight - ' '*ones // below zero for a control character
	quote := eight ^ '"'*ones - ones
	backslash := eight ^ '\\'*ones - ones
	return (notASCII | control | quote | backslash) & highs
}

// notBareInHTML compares two pairs of characters at once that differ in one bit.
func notBareInHTML(eight uint64) uint64 {
	notASCII := eight
	control := eight - ' '*ones
	quoteOrAnd := (eight | ('"'^'&')*ones) ^ ('"'|'&')*ones - ones
	lessOrGreater := (eight | ('<'^'>')*ones) ^ ('<'|'>')*ones - ones
	backslash := eight ^ '\\'*ones - ones
	return (notASCII | control | quoteOrAnd | lessOrGreater | backslash) & highs
}
