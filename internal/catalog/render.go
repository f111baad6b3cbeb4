package catalog

import (
	"fmt"
	"io"
	"strings"
	"unicode"
)

// Render writes every finding with the line it is about and a caret below:
//
//	events.yaml:12:5: unknown key "rety" in event order.placed; did you mean "retry"? [unknown-key]
//	   12 |     rety: { max_attempts: 3 }
//	      |     ^^^^
//
// Related places follow in the same form. The error is w's.
func (fs Findings) Render(w io.Writer) error {
	var out strings.Builder
	for _, f := range fs {
		out.WriteString(f.String() + "\n")
		f.excerpt(&out)
		for _, rel := range f.Related {
			fmt.Fprintf(&out, "  %s: %s\n", rel.Pos, rel.Message)
			rel.excerpt(&out)
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// An excerpt of a longer line, such as a catalogue written as one line of
// JSON, begins this far before the place, and is this long.
const (
	excerptBefore = 60
	excerptWidth  = 160
)

// excerpt writes the line and a caret under the place. Tabs stay tabs in both
// lines, so that the caret stands right however wide a terminal shows them.
func (p Place) excerpt(out *strings.Builder) {
	line, column := []rune(p.Line), p.Pos.Column-1
	if len(line) > excerptWidth {
		start := min(max(0, column-excerptBefore), len(line)-excerptWidth)
		line, column = line[start:start+excerptWidth], column-start
	}
	shown, padding := make([]rune, len(line)), make([]rune, column)
	for i, c := range line {
		shown[i] = c
		if c != '\t' && !unicode.IsPrint(c) {
			shown[i] = unicode.ReplacementChar
		}
	}
	for i := range padding {
		padding[i] = ' '
		if line[i] == '\t' {
			padding[i] = '\t'
		}
	}
	carets := strings.Repeat("^", max(1, min(p.Length, len(line)-column)))
	fmt.Fprintf(out, "%5d | %s\n", p.Pos.Line, strings.TrimRightFunc(string(shown), unicode.IsSpace))
	fmt.Fprintf(out, "      | %s%s\n", string(padding), carets)
}
