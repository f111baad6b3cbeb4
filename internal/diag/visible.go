package diag

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// Visible escapes characters that cannot be printed, or that control a terminal. A message may quote
// what somebody has written in a catalogue.
func Visible(text string) string { return Escape(text, unicode.IsPrint) }

// Escape replaces every character that is not to be kept by its escape: \n, \t, \r, \x1b, \u200b.
func Escape(text string, keep func(rune) bool) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return !keep(r) }) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case keep(r):
			b.WriteRune(r)
		case r < ' ' && r != '\n' && r != '\t' && r != '\r':
			fmt.Fprintf(&b, `\x%02x`, r) // not \a, \b, \f or \v, which few people know
		default:
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
	}
	return b.String()
}
