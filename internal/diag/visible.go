package diag

import (
	"unicode"

	"github.com/busgen/busgen/internal/words"
)

// Visible escapes characters that cannot be printed, or that control a terminal. A message may quote
// what somebody has written in a catalogue.
func Visible(text string) string { return words.Escape(text, unicode.IsPrint) }
