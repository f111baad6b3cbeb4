package edit

import (
	"fmt"
	"strings"
)

// around is how many lines are shown around a change.
const around = 3

// Diff returns what changes from before to after, in the unified form; it is empty
// if nothing does.
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

// linesOf splits a text. A last line without an end, or with another end than \n,
// is another line than the one with it, and says so.
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
	left, right int // numbers of the line, from 1; of the next one where it has none
}

// script returns the steps from a to b, by a longest common subsequence. What is
// equal at both ends is left out of the quadratic part.
func script(a, b []string) []step {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	x, y := a[head:len(a)-tail], b[head:len(b)-tail]
	longest := common(x, y)
	var steps []step
	i, j := 0, 0
	add := func(op byte, text string) {
		steps = append(steps, step{op, text, i + 1, j + 1})
		if op != '+' {
			i++
		}
		if op != '-' {
			j++
		}
	}
	for _, line := range a[:head] {
		add(' ', line)
	}
	for i < head+len(x) || j < head+len(y) {
		m, n := i-head, j-head
		switch {
		case m < len(x) && n < len(y) && x[m] == y[n]:
			add(' ', x[m])
		case n == len(y) || m < len(x) && longest[m+1][n] >= longest[m][n+1]:
			add('-', x[m])
		default:
			add('+', y[n])
		}
	}
	for _, line := range a[len(a)-tail:] {
		add(' ', line)
	}
	return steps
}

// most is how much memory a comparison may take; larger ones show all of the old
// lines and then all of the new ones.
const most = 16 << 20

// common returns the lengths of the longest common subsequences of the ends of x
// and y.
func common(x, y []string) [][]int32 {
	longest := make([][]int32, len(x)+1)
	if (len(x)+1)*(len(y)+1) > most {
		zeros := make([]int32, len(y)+1)
		for i := range longest {
			longest[i] = zeros
		}
		return longest
	}
	for i := len(x); i >= 0; i-- {
		longest[i] = make([]int32, len(y)+1)
		for j := len(y) - 1; j >= 0 && i < len(x); j-- {
			if x[i] == y[j] {
				longest[i][j] = longest[i+1][j+1] + 1
			} else {
				longest[i][j] = max(longest[i+1][j], longest[i][j+1])
			}
		}
	}
	return longest
}

// hunks are the changes with what is around them.
func hunks(steps []step) [][]step {
	var all [][]step
	end := 0 // of the last hunk
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

// spanOf is where the lines with one of two operations are: 3,5.
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
