package edit

import (
	"fmt"
	"slices"
	"strings"
)

// around is the number of lines shown around a change.
const around = 3

// Diff returns the changes from before to after in the unified format. It is empty if there are none.
func Diff(name string, before, after []byte) string {
	if string(before) == string(after) {
		return ""
	}
	a, b := linesOf(before), linesOf(after)
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n", name, name)
	for _, h := range hunks(script(a, b)) {
		fmt.Fprintf(&out, "@@ -%s +%s @@\n", spanOf(h, ' ', '-'), spanOf(h, ' ', '+'))
		for _, step := range h {
			out.WriteString(string(step.op) + step.text + "\n")
		}
	}
	return out.String()
}

// linesOf splits a text into lines. A last line without an end differs from the same line with one, and
// says so.
func linesOf(text []byte) []string {
	s := strings.ReplaceAll(string(text), "\r", "␍")
	if s == "" {
		return nil
	}
	if !strings.HasSuffix(s, "\n") {
		s += "  (no line end)\n"
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}

// A step keeps (' '), removes ('-') or adds ('+') a line.
type step struct {
	op          byte
	text        string
	left, right int // numbers of the line, from 1; on a side without it, of the next line
}

// script returns the shortest list of steps from a to b, by the algorithm of Myers (An O(ND) Difference
// Algorithm and Its Variations, 1986).
func script(a, b []string) []step {
	rounds := furthest(a, b)
	if rounds == nil {
		return replaced(a, b)
	}
	var steps []step // from the end to the beginning
	x, y := len(a), len(b)
	for d := len(rounds) - 1; d >= 0; d-- {
		k, before := x-y, 0 // the diagonal, and the one before
		if d > 0 {
			before = k - 1
			if k == -d || k != d && rounds[d-1].at(k-1) < rounds[d-1].at(k+1) {
				before = k + 1
			}
		}
		fromX, fromY := 0, 0
		if d > 0 {
			fromX = rounds[d-1].at(before)
			fromY = fromX - before
		}
		for x > fromX && y > fromY {
			x, y = x-1, y-1
			steps = append(steps, step{' ', a[x], x + 1, y + 1})
		}
		switch {
		case d == 0:
		case x > fromX:
			x--
			steps = append(steps, step{'-', a[x], x + 1, y + 1})
		default:
			y--
			steps = append(steps, step{'+', b[y], x + 1, y + 1})
		}
	}
	slices.Reverse(steps)
	return steps
}

// A round has, for each diagonal x-y, how far in a one gets with a number of changes.
type round []int

func (r round) at(diagonal int) int { return r[diagonal+len(r)/2] }

// mostChanges bounds the work, which is quadratic in the number of changes. Texts with more changes are
// replaced as a whole.
const mostChanges = 1500

// furthest returns the rounds up to the one that reaches the end of both texts, or nil if there are too
// many.
func furthest(a, b []string) []round {
	var rounds []round
	for d := 0; d <= mostChanges; d++ {
		r := make(round, 2*d+3)
		for k := -d; k <= d; k += 2 {
			x := 0
			switch {
			case d == 0:
			case k == -d || k != d && rounds[d-1].at(k-1) < rounds[d-1].at(k+1):
				x = rounds[d-1].at(k + 1)
			default:
				x = rounds[d-1].at(k-1) + 1
			}
			for x < len(a) && x-k < len(b) && a[x] == b[x-k] {
				x++
			}
			r[k+len(r)/2] = x
			if x >= len(a) && x-k >= len(b) {
				return append(rounds, r)
			}
		}
		rounds = append(rounds, r)
	}
	return nil
}

// replaced removes all of a and adds all of b.
func replaced(a, b []string) []step {
	var steps []step
	for i, line := range a {
		steps = append(steps, step{'-', line, i + 1, 1})
	}
	for i, line := range b {
		steps = append(steps, step{'+', line, len(a) + 1, i + 1})
	}
	return steps
}

// hunks returns the changes with the lines around them.
func hunks(steps []step) [][]step {
	var all [][]step
	end := 0 // the end of the last hunk
	for i, s := range steps {
		if s.op == ' ' {
			continue
		}
		from, to := max(i-around, end), min(i+around+1, len(steps))
		if len(all) > 0 && i-around <= end {
			last := &all[len(all)-1]
			*last = append(*last, steps[end:max(to, end)]...)
		} else {
			all = append(all, append([]step(nil), steps[from:to]...))
		}
		end = max(end, to)
	}
	return all
}

// spanOf returns the first line and the number of lines with one of two operations: 3,5.
func spanOf(h []step, ops ...byte) string {
	n := 0
	for _, s := range h {
		if s.op == ops[0] || s.op == ops[1] {
			n++
		}
	}
	first := h[0].left
	if ops[1] == '+' {
		first = h[0].right
	}
	if n == 0 {
		first--
	}
	return fmt.Sprintf("%d,%d", first, n)
}
