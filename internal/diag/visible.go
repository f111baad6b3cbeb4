package diag

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/busgen/busgen/internal/words"
)

// Visible escapes characters that cannot be printed, or that control a terminal. A message may quote
// the text of a catalogue.
func Visible(text string) string { return words.Escape(text, unicode.IsPrint) }

// Label shows a name in a message, or in the key of a finding: as it is if that is plain to see, and quoted otherwise.
func Label(name string) string {
	odd := func(r rune) bool { return !unicode.IsGraphic(r) || unicode.IsSpace(r) }
	if name == "" || strings.ContainsFunc(name, odd) {
		return strconv.Quote(name)
	}
	return name
}
