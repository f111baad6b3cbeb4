package terminal

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/busgen/busgen/internal/words"
)

// Width returns how many columns of a terminal a text takes, without escape
// sequences. A letter that is built from several characters may count as wider
// than it is; no text counts as narrower.
func Width(text string) int {
	width := 0
	for _, c := range text {
		width += widthOf(c)
	}
	return width
}

// widthOf is 2 for the characters of East Asia and for pictures, 0 for marks
// that join the character before.
func widthOf(c rune) int {
	switch {
	case c < 0x300:
		return 1
	case unicode.In(c, unicode.Mn, unicode.Me) || c == zeroWidthJoiner:
		return 0
	case c >= 0x1100 && unicode.Is(wide, c):
		return 2
	}
	return 1
}

const zeroWidthJoiner = '\u200D'

// wide is East_Asian_Width W and F, in blocks.
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x1100, Hi: 0x115F, Stride: 1}, // Hangul Jamo
		{Lo: 0x231A, Hi: 0x231B, Stride: 1}, // watch, hourglass
		{Lo: 0x23E9, Hi: 0x23EC, Stride: 1},
		{Lo: 0x2614, Hi: 0x2615, Stride: 1},
		{Lo: 0x2648, Hi: 0x2653, Stride: 1},
		{Lo: 0x26AA, Hi: 0x26AB, Stride: 1},
		{Lo: 0x26BD, Hi: 0x26BE, Stride: 1},
		{Lo: 0x2705, Hi: 0x2705, Stride: 1},
		{Lo: 0x270A, Hi: 0x270B, Stride: 1},
		{Lo: 0x2728, Hi: 0x2728, Stride: 1},
		{Lo: 0x274C, Hi: 0x274E, Stride: 2},
		{Lo: 0x2753, Hi: 0x2755, Stride: 1},
		{Lo: 0x2757, Hi: 0x2757, Stride: 1},
		{Lo: 0x2795, Hi: 0x2797, Stride: 1},
		{Lo: 0x2B50, Hi: 0x2B55, Stride: 5},
		{Lo: 0x2E80, Hi: 0x303E, Stride: 1}, // CJK radicals and punctuation
		{Lo: 0x3041, Hi: 0x33FF, Stride: 1}, // Kana to CJK compatibility
		{Lo: 0x3400, Hi: 0x4DBF, Stride: 1},
		{Lo: 0x4E00, Hi: 0x9FFF, Stride: 1}, // CJK ideographs
		{Lo: 0xA000, Hi: 0xA4CF, Stride: 1}, // Yi
		{Lo: 0xA960, Hi: 0xA97F, Stride: 1},
		{Lo: 0xAC00, Hi: 0xD7A3, Stride: 1}, // Hangul syllables
		{Lo: 0xF900, Hi: 0xFAFF, Stride: 1},
		{Lo: 0xFE30, Hi: 0xFE6F, Stride: 1},
		{Lo: 0xFF01, Hi: 0xFF60, Stride: 1}, // full-width forms
		{Lo: 0xFFE0, Hi: 0xFFE6, Stride: 1},
	},
	R32: []unicode.Range32{
		{Lo: 0x16FE0, Hi: 0x18CFF, Stride: 1}, // Tangut
		{Lo: 0x1AFF0, Hi: 0x1B2FF, Stride: 1}, // Kana
		{Lo: 0x1F000, Hi: 0x1F02F, Stride: 1},
		{Lo: 0x1F0A0, Hi: 0x1F0FF, Stride: 1},
		{Lo: 0x1F18E, Hi: 0x1F19A, Stride: 1},
		{Lo: 0x1F1E6, Hi: 0x1F265, Stride: 1},
		{Lo: 0x1F300, Hi: 0x1F64F, Stride: 1}, // pictures
		{Lo: 0x1F680, Hi: 0x1F6FF, Stride: 1},
		{Lo: 0x1F7E0, Hi: 0x1F7EB, Stride: 1},
		{Lo: 0x1F900, Hi: 0x1FAFF, Stride: 1},
		{Lo: 0x20000, Hi: 0x3FFFD, Stride: 1}, // CJK ideographs
	},
}

// Cut shortens a text to a width, and says so with … at its end.
func Cut(text string, width int) string {
	if Width(text) <= width {
		return text
	}
	taken := 0
	for i, c := range text {
		taken += widthOf(c)
		if taken > width-1 {
			return text[:i] + "…"
		}
	}
	return text
}

// CleanJSON returns JSON that means the same and does nothing to a terminal: what
// Clean would show as escapes is escaped in the way of JSON.
func CleanJSON(text string) string {
	if !strings.ContainsFunc(text, unsafeInJSON) {
		return text
	}
	var b strings.Builder
	for _, c := range text {
		switch {
		case !unsafeInJSON(c):
			b.WriteRune(c)
		case c > 0xFFFF:
			high, low := utf16.EncodeRune(c)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, c)
		}
	}
	return b.String()
}

// JSONWriter returns w or, if it is a terminal, a writer of lines of JSON to it that
// do nothing to it.
func JSONWriter(w io.Writer) io.Writer {
	if !IsTerminal(w) {
		return w
	}
	return cleaner{w}
}

// cleaner expects whole lines.
type cleaner struct{ io.Writer }

func (c cleaner) Write(line []byte) (int, error) {
	if _, err := io.WriteString(c.Writer, CleanJSON(string(line))); err != nil {
		return 0, err
	}
	return len(line), nil
}

// unsafeInJSON holds in texts only: between them there is nothing of it but line
// breaks. Bytes that are not UTF-8 come as utf8.RuneError.
func unsafeInJSON(c rune) bool {
	return c != '\n' && c != '\t' && (!words.Printable(c) || c == utf8.RuneError)
}
