package terminal

import "strings"

// Table is a list for people. The zero Table with some columns is ready to use.
type Table struct {
	Columns []Column
	rows    [][]string
	notes   map[int]string // by row
}

// Column is a column of a [Table].
type Column struct {
	Title string
	Right bool // aligned to the right: for numbers
	// Least is the width that the column is left with when the screen is
	// narrow; 0 for one that is never cut.
	Least int
	// Style chooses how a text is written; nil for plain.
	Style func(text string) Style
}

// Row adds a row, one text for each column.
func (t *Table) Row(texts ...string) {
	row := make([]string, len(t.Columns))
	for i := range row {
		row[i] = Clean(texts[i])
	}
	t.rows = append(t.rows, row)
}

// Note puts a line of its own below the last row, for a text that needs the
// whole width.
func (t *Table) Note(text string) {
	if t.notes == nil {
		t.notes = map[int]string{}
	}
	t.notes[len(t.rows)-1] = gap + Clean(text)
}

// gap separates the columns.
const gap = "  "

// Render returns the table for a screen. Columns in which nothing is written are
// left out. If the rest is too wide, the widest columns are cut, as far as they
// allow.
func (t *Table) Render(screen Screen) string {
	widths := t.widths()
	if screen.Width > 0 {
		t.shrink(widths, screen.Width)
	}
	var b strings.Builder
	titles := make([]string, len(t.Columns))
	titled := false
	for i, c := range t.Columns {
		titles[i] = c.Title
		titled = titled || c.Title != ""
	}
	if titled {
		t.line(&b, titles, widths, func(_ int, text string) string { return screen.Paint(Dim, text) })
	}
	for n, row := range t.rows {
		t.line(&b, row, widths, func(i int, text string) string {
			if style := t.Columns[i].Style; style != nil {
				return screen.Paint(style(row[i]), text)
			}
			return text
		})
		if note := t.notes[n]; note != "" {
			b.WriteString(screen.fit(note) + "\n")
		}
	}
	return b.String()
}

// widths returns what each column needs: 0 if nothing is in it.
func (t *Table) widths() []int {
	widths := make([]int, len(t.Columns))
	for _, row := range t.rows {
		for i, text := range row {
			widths[i] = max(widths[i], Width(text))
		}
	}
	for i, c := range t.Columns {
		if widths[i] > 0 {
			widths[i] = max(widths[i], Width(c.Title))
		}
	}
	return widths
}

// shrink makes the widest column narrower until all of them fit.
func (t *Table) shrink(widths []int, limit int) {
	for total(widths) > limit {
		widest := -1
		for i, c := range t.Columns {
			if c.Least > 0 && widths[i] > max(c.Least, Width(c.Title)) && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return
		}
		widths[widest]--
	}
}

func total(widths []int) int {
	sum := -len(gap)
	for _, width := range widths {
		if width > 0 {
			sum += width + len(gap)
		}
	}
	return sum
}

// line writes one line; paint is applied to what is visible only.
func (t *Table) line(b *strings.Builder, texts []string, widths []int, paint func(i int, text string) string) {
	pending := "" // spaces that are written only if something follows
	for i, c := range t.Columns {
		if widths[i] == 0 {
			continue
		}
		text := Cut(texts[i], widths[i])
		space := strings.Repeat(" ", widths[i]-Width(text))
		if c.Right {
			pending += space
			space = ""
		}
		if text != "" {
			b.WriteString(pending + paint(i, text))
			pending = ""
		}
		pending += space + gap
	}
	b.WriteByte('\n')
}
