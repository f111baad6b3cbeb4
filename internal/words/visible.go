package words

import (
	"strconv"
	"strings"
	"unicode"
)

// Clean returns a text as one line that can be shown: line breaks and tabs are spaces,
// other control characters, and those that change the direction of writing, are
// shown as escapes.
func Clean(text string) string { return Escape(asSpaces.Replace(text), Printable) }

var asSpaces = strings.NewReplacer("\n", " ", "\t", " ", "\r", " ")

// CleanLines is Clean for a text of several lines, which it keeps.
func CleanLines(text string) string {
	return Escape(asLines.Replace(text), func(c rune) bool { return c == '\n' || Printable(c) })
}

var asLines = strings.NewReplacer("\t", "    ", "\r", "")

// Printable tells whether a character shows itself and does nothing else: control
// characters, format characters such as the marks that change the direction of writing,
// and separators of lines do not. A zero-width joiner is printable, because pictures are
// built with it.
func Printable(c rune) bool {
	return c == zeroWidthJoiner || !unicode.IsControl(c) && !unicode.In(c, unicode.Cf, unicode.Zl, unicode.Zp)
}

const zeroWidthJoiner = '\u200D'

// Escape writes every character that is not to be kept as in a Go string, such as \a, \x1b or \u200b. Bytes
// that are not UTF-8 become the replacement character.
func Escape(text string, keep func(rune) bool) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if !strings.ContainsFunc(text, func(r rune) bool { return !keep(r) }) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if keep(r) {
			b.WriteRune(r)
		} else {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
	}
	return b.String()
}
