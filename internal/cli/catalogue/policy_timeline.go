package catalogue

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/cli/terminal"
)

// timeline draws a schedule as one line:
//
//	1 ─1s─ 2 ──2s── 3 ────4s──── 4 ✕
//
// Numbers are attempts, ✕ is the dead letter.
type timeline struct {
	label  string
	delays []time.Duration // before attempts 2, 3, …
	end    string          // what follows the last attempt
}

// timelines draws the schedule and, if they differ, those of error classes. The
// lines share a scale.
func timelines(s catalog.Settings, width int) string {
	lines := []timeline{timelineOf("any error", attemptsOf(s, s.Policy()), s.Redrive)}
	for _, rule := range s.Errors {
		if p := s.PolicyFor(rule); p != s.Policy() {
			lines = append(lines, timelineOf(rule.Class.V, attemptsOf(s, p), s.Redrive))
		}
	}
	if len(lines) == 1 {
		lines[0].label = ""
	}
	labels := 0
	for _, line := range lines {
		labels = max(labels, terminal.Width(line.label))
	}
	if labels > 0 {
		labels += len("  ")
	}
	scale := scaleOf(lines, width-labels)
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(line.label + strings.Repeat(" ", labels-terminal.Width(line.label)) + line.draw(scale, width-labels) + "\n")
	}
	return b.String()
}

func timelineOf(label string, attempts []attempt, redrive catalog.Redrive) timeline {
	line := timeline{label: label, end: " ✕"}
	for _, a := range attempts[1:] {
		line.delays = append(line.delays, a.wait)
	}
	if !redrive.Off.V {
		line.end += " ┄" + catalog.Short(redrive.Every.V) + "┄ ↻"
		if redrive.Max.V > 1 {
			line.end += " ×" + strconv.Itoa(redrive.Max.V)
		}
	}
	return line
}

// scale says how long the line of a delay is. Each doubling of the delay adds the
// same number of columns.
type scale struct {
	shortest time.Duration
	columns  float64
}

// generous is the number of columns for a doubling if there is room.
const generous = 4

// scaleOf returns the largest scale at which all lines fit. It ignores lines that
// do not fit at any scale.
func scaleOf(lines []timeline, width int) scale {
	s := scale{shortest: math.MaxInt64, columns: generous}
	for _, line := range lines {
		for _, d := range line.delays {
			if d > 0 {
				s.shortest = min(s.shortest, d)
			}
		}
	}
	for _, line := range lines {
		if line.width(scale{s.shortest, 0}) > width {
			continue
		}
		for line.width(s) > width {
			s.columns -= 0.25
		}
	}
	return s
}

// dashes returns the number of dashes on both sides of a delay together.
func (s scale) dashes(d time.Duration) int {
	if d <= 0 {
		return 2
	}
	return 2 + int(math.Round(s.columns*math.Log2(float64(d)/float64(s.shortest))))
}

func (line timeline) width(s scale) int {
	width := 1 + terminal.Width(line.end)
	for i, d := range line.delays {
		width += terminal.Width(stretch(s, d)) + len(strconv.Itoa(i+2))
	}
	return width
}

// stretch draws a delay.
func stretch(s scale, d time.Duration) string {
	n := s.dashes(d)
	return " " + strings.Repeat("─", n/2) + catalog.Brief(d) + strings.Repeat("─", n-n/2) + " "
}

// draw draws the line. If it is too long at any scale, attempts in the middle are
// left out.
func (line timeline) draw(s scale, width int) string {
	if line.width(s) > width {
		s.columns = 0
	}
	for shown := len(line.delays); ; shown-- {
		text := line.drawSome(s, shown)
		if shown <= 1 || terminal.Width(text) <= width {
			return text
		}
	}
}

// drawSome draws this number of delays, the last one included.
func (line timeline) drawSome(s scale, shown int) string {
	var b strings.Builder
	b.WriteString("1")
	for i, d := range line.delays {
		switch left := len(line.delays) - shown; {
		case i < shown-1 || i == len(line.delays)-1:
			b.WriteString(stretch(s, d) + strconv.Itoa(i+2))
		case i == shown-1:
			b.WriteString(" ┄ " + strconv.Itoa(left) + " more ┄")
		}
	}
	return b.String() + line.end
}
