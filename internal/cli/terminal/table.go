package terminal

import (
	"slices"
	"strings"
)

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
	// Least is the width that the column is left with when the screen is narrow; 0 for one that is never cut: a name
	// or anything else that identifies.
	Least int
	// Drop says which column is left out first when the screen is narrow: the one with the lowest number. 0 is for one
	// that is never left out.
	Drop int
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

// Render returns the table for a screen. Columns in which nothing is written are left out. If the rest is too wide,
// the widest columns are cut, as far as they allow; then columns are left out, as far as they allow; then rows are
// folded: the columns behind a long name are below it, or, if most rows are too wide, those that do not fit are
// below the row, indented.
func (t *Table) Render(screen Screen) string {
	widths := t.fitted(screen.Width)
	parts := [][]int{widths}
	if screen.Width > 0 && total(widths) > screen.Width && !t.overflow(widths, screen.Width) {
		parts = t.folded(widths, screen.Width)
	}
	var b strings.Builder
	titles := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		titles[i] = c.Title
	}
	if strings.Join(titles, "") != "" {
		t.lines(&b, titles, parts, func(_ int, text string) string { return screen.Paint(Dim, text) })
	}
	for n, row := range t.rows {
		t.lines(&b, row, parts, func(i int, text string) string {
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

// fitted returns the widths of the columns, 0 for one that is left out. They may be too wide all the same.
func (t *Table) fitted(limit int) []int {
	widths := t.widths()
	for limit > 0 && total(widths) > limit {
		cut := slices.Clone(widths)
		t.shrink(cut, limit)
		if total(cut) <= limit {
			return cut
		}
		drop := -1
		for i, c := range t.Columns {
			if c.Drop > 0 && widths[i] > 0 && (drop < 0 || c.Drop < t.Columns[drop].Drop) {
				drop = i
			}
		}
		if drop < 0 {
			return widths
		}
		widths[drop] = 0
	}
	return widths
}

// overflow makes the widest column that is never cut so narrow that the others fit. The few texts in it that are longer
// stay whole, and what is behind them is on the next line. It reports false, and changes nothing, if that does not help
// or if they are not few.
func (t *Table) overflow(widths []int, limit int) bool {
	widest, last := -1, 0
	for i, c := range t.Columns {
		if widths[i] > 0 {
			last = i
		}
		if t.least(i) == 0 && !c.Right && (widest < 0 || widths[i] > widths[widest]) {
			widest = i
		}
	}
	if widest < 0 {
		return false
	}
	width := widths[widest] - (total(widths) - limit)
	if width < max(Width(t.Columns[widest].Title), 8) {
		return false
	}
	longer := 0
	for _, row := range t.rows {
		if Width(row[widest]) > width {
			longer++
		}
	}
	if widest != last && 2*longer > len(t.rows) {
		return false
	}
	widths[widest] = width
	return true
}

// folded divides columns that are too wide between several lines.
func (t *Table) folded(widths []int, limit int) [][]int {
	parts := [][]int{make([]int, len(widths))}
	room := limit
	for i, width := range widths {
		if width == 0 {
			continue
		}
		if least := t.least(i); least > 0 && width > room && least <= room {
			width = room
		}
		if width > room && room < limit {
			parts = append(parts, make([]int, len(widths)))
			room = limit - len(indent)
			if t.least(i) > 0 {
				width = min(widths[i], room)
			}
		}
		parts[len(parts)-1][i] = width
		room -= width + len(gap)
	}
	return parts
}

// least is the width that a column is left with; 0 for one that is never cut.
func (t *Table) least(i int) int {
	if c := t.Columns[i]; c.Least > 0 {
		return max(c.Least, Width(c.Title))
	}
	return 0
}

// indent is before what is below a row that was folded.
const indent = "    "

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
		for i := range t.Columns {
			if least := t.least(i); least > 0 && widths[i] > least && (widest < 0 || widths[i] > widths[widest]) {
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

// lines writes a row, which is several lines if it is folded: those in which something is.
func (t *Table) lines(b *strings.Builder, texts []string, parts [][]int, paint func(i int, text string) string) {
	for n, widths := range parts {
		if n == 0 || t.has(texts, widths) {
			margin := ""
			if n > 0 {
				margin = indent
			}
			t.line(b, texts, widths, margin, paint)
		}
	}
}

// has reports whether there are texts in the columns that have a width.
func (t *Table) has(texts []string, widths []int) bool {
	for i, text := range texts {
		if text != "" && widths[i] > 0 {
			return true
		}
	}
	return false
}

// line writes one line; paint is applied to what is visible only. A text that is wider than its column and must not be
// cut ends the line.
func (t *Table) line(b *strings.Builder, texts []string, widths []int, margin string, paint func(i int, text string) string) {
	pending := margin // spaces that are written only if something follows
	offset := Width(margin)
	for i, c := range t.Columns {
		if widths[i] == 0 {
			continue
		}
		text := texts[i]
		if t.least(i) > 0 {
			text = Cut(text, widths[i])
		}
		space := strings.Repeat(" ", max(0, widths[i]-Width(text)))
		if c.Right {
			pending += space
			space = ""
		}
		if text != "" {
			b.WriteString(pending + paint(i, text))
			pending = ""
		}
		offset += widths[i] + len(gap)
		if pending += space + gap; Width(text) > widths[i] {
			pending = "\n" + strings.Repeat(" ", offset)
		}
	}
	b.WriteByte('\n')
}
