package diag

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
	lines := excerpts{out: &out}
	for _, f := range fs {
		out.WriteString(f.String() + "\n")
		lines.excerpt(f.Place)
		for _, rel := range f.Related {
			fmt.Fprintf(&out, "  %s: %s\n", rel.Pos, rel.Message)
			lines.excerpt(rel.Place)
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// An excerpt of a longer line, such as a catalogue in one line of JSON, begins this many characters
// before the place and has this many.
const (
	excerptBefore = 60
	excerptWidth  = 160
)

// excerpts writes the lines of places. Many findings can be about one very long line, so that
// what was made of the last one is kept.
type excerpts struct {
	out  *strings.Builder
	line string
	text []rune // the same
}

// excerpt writes the line and a caret under the place. Tabs stay tabs in both
// lines, so that the caret stands right however wide a terminal shows them.
func (e *excerpts) excerpt(p Place) {
	if p.Line == "" {
		return
	}
	if p.Line != e.line {
		e.line, e.text = p.Line, []rune(p.Line)
	}
	line, column := e.text, p.Pos.Column-1
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
	fmt.Fprintf(e.out, "%5d | %s\n", p.Pos.Line, strings.TrimRightFunc(string(shown), unicode.IsSpace))
	fmt.Fprintf(e.out, "      | %s%s\n", string(padding), carets)
}
