package diag

import (
	"strconv"
	"strings"
	"unicode"
)

// Visible escapes characters that cannot be printed, or that control a terminal. A message may quote
// what somebody has written in a catalogue.
func Visible(text string) string { return Escape(text, unicode.IsPrint) }

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
