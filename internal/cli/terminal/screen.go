package terminal

import (
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// Screen is the place where output goes. Its zero value is a file: no colours,
// lines of any length.
type Screen struct {
	Width  int  // columns; 0 for no limit
	Colour bool // escape sequences are understood, and wanted
}

// ScreenOf finds out what w is. COLUMNS, if it is set, says how wide lines may
// be; else the terminal says it, if w is one. Terminals have colours unless
// NO_COLOR is set or TERM is dumb.
func ScreenOf(w io.Writer) Screen {
	width, _, terminal := size(w)
	if columns, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && columns > 0 {
		width = columns
	}
	return Screen{
		Width:  width,
		Colour: terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb",
	}
}

// IsTerminal reports whether a reader or a writer is a terminal.
func IsTerminal(stream any) bool {
	_, _, terminal := size(stream)
	return terminal
}

// size returns the columns and the lines of a terminal, 0 for what it does not know.
func size(stream any) (width, height int, terminal bool) {
	file, ok := stream.(*os.File)
	if !ok || file == nil {
		return 0, 0, false
	}
	return sizeOf(file)
}

// Style is a way to write a text on a terminal.
type Style string

// The styles. The zero Style is plain.
const (
	Plain  Style = ""
	Bold   Style = "1"
	Dim    Style = "2"
	Red    Style = "31"
	Green  Style = "32"
	Yellow Style = "33"
)

// Paint returns the text in a style, if the screen has colours.
func (s Screen) Paint(style Style, text string) string {
	if !s.Colour || style == Plain || text == "" {
		return text
	}
	return "\x1b[" + string(style) + "m" + text + "\x1b[0m"
}

// fit cuts a line that is too long.
func (s Screen) fit(line string) string {
	if s.Width == 0 {
		return line
	}
	return Cut(line, s.Width)
}

// Fold divides a text between the lines of the screen, at its spaces; lines below the first are indented. A word that
// is longer than a line stays whole. The text may have been painted. The result ends with a line break.
func (s Screen) Fold(text string) string {
	if s.Width == 0 {
		return text + "\n"
	}
	const indent = "  "
	var b strings.Builder
	column := 0
	for n, word := range strings.Split(text, " ") {
		width := Width(unpainted(word))
		switch {
		case n == 0:
		case column+1+width > s.Width:
			b.WriteString("\n" + indent)
			column = len(indent)
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += width
	}
	return b.String() + "\n"
}

// unpainted returns a text without what Paint has added.
func unpainted(text string) string { return painting.ReplaceAllString(text, "") }

var painting = regexp.MustCompile("\x1b\\[[0-9]*m")
