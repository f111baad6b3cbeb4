package terminal

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// Redraw shows texts one after the other: on a terminal each in the place of the
// one before, elsewhere with a blank line between them. It is not safe for
// concurrent use.
type Redraw struct {
	out   io.Writer
	shown bool
}

// NewRedraw returns one that shows texts on w.
func NewRedraw(w io.Writer) *Redraw { return &Redraw{out: w} }

// Show shows a text that ends with a line break. A terminal that is too low shows
// its first lines.
func (r *Redraw) Show(text string) error {
	width, height, terminal := size(r.out)
	first := !r.shown
	r.shown = true
	if !terminal || os.Getenv("TERM") == "dumb" {
		if !first {
			text = "\n" + text
		}
		_, err := io.WriteString(r.out, text)
		return err
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if room := height - 1; room > 1 { // the cursor stands below the last one
		lines = fitting(lines, width, room)
	}
	// The cursor goes home, each line is erased behind what is written, and so is all
	// that is below: nothing flickers.
	begin := "\x1b[H"
	if first {
		begin = "\x1b[2J\x1b[H"
	}
	_, err := io.WriteString(r.out, begin+strings.Join(lines, "\x1b[K\n")+"\x1b[K\n\x1b[J")
	return err
}

// fitting returns the first lines, as many as fit in so many rows, and says how many others there are. A line that is
// wider than the terminal takes several rows.
func fitting(lines []string, width, rows int) []string {
	used := make([]int, len(lines)+1) // of the rows, before each line
	for i, line := range lines {
		used[i+1] = used[i] + 1
		if wide := Width(unpainted(line)); width > 0 && wide > width {
			used[i+1] += (wide - 1) / width
		}
	}
	if used[len(lines)] <= rows {
		return lines
	}
	n := len(lines)
	for n > 0 && used[n] > rows-1 {
		n--
	}
	return append(lines[:n:n], fmt.Sprintf("… and %s", Counted(len(lines)-n, "more line")))
}
