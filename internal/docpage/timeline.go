package docpage

import (
	"math"
	"strconv"
	"time"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/runtime/retry"
)

// A timeline draws a schedule: a dot for each attempt, and between two of them
// the delay as a line, longer for a longer delay, with a band for its jitter.
// Lengths are on a logarithmic scale; all numbers are CSS pixels.
type timeline struct {
	Label    string
	Width    int
	Least    int // of the width: on a narrow screen it shrinks as far as it can be read
	Dots     []dot
	Segments []segment
	End      int // where the dead letter is
	Redrive  string
	Words    string // the same for readers who cannot see it
}

type dot struct {
	X    int
	Text string
}

// A segment is the delay between two dots. One that is Skipped stands for several.
type segment struct {
	From, To, Middle int
	Text             string
	Band, BandWidth  int // what the jitter moves the next attempt by; no width without one
	Skipped          bool
}

const (
	dotRadius   = 11
	shortest    = 48  // of a line: its label must fit above it
	doubling    = 10  // more for each time that a delay doubles from the shortest
	longest     = 120 // of a line
	mostDots    = 7   // attempts drawn; those in the middle are left out
	beforeFirst = dotRadius + 3
	endGap      = 34 // from the last attempt to the dead letter
)

func timelineOf(p retry.Policy, redrive catalog.Redrive) timeline {
	steps := p.Schedule()
	t := timeline{Words: words(steps)}
	least := shortestDelay(steps)
	x := beforeFirst
	t.Dots = append(t.Dots, dot{x, "1"})
	for i := 1; i < len(steps); i++ {
		skip := len(steps) > mostDots && i == mostDots-2
		if skip {
			left := len(steps) - mostDots + 1 // waits, between one attempt less
			i += left - 1
			to := x + shortest + 2*dotRadius
			t.Segments = append(t.Segments, segment{From: x + dotRadius, To: to - dotRadius, Middle: (x + to) / 2, Text: strconv.Itoa(left-1) + " more", Skipped: true})
			x = to
			t.Dots = append(t.Dots, dot{x, strconv.Itoa(steps[i].Attempt)})
			continue
		}
		line := length(steps[i].Delay, least)
		to := x + line + 2*dotRadius
		s := segment{From: x + dotRadius, To: to - dotRadius, Middle: (x + to) / 2, Text: catalog.Brief(steps[i].Delay)}
		if steps[i].Lo < steps[i].Hi && steps[i].Delay > 0 {
			s.BandWidth = min(line, int(math.Round(float64(line)*float64(steps[i].Hi-steps[i].Lo)/float64(steps[i].Delay))))
			s.Band = to - dotRadius - s.BandWidth
		}
		t.Segments = append(t.Segments, s)
		x = to
		t.Dots = append(t.Dots, dot{x, strconv.Itoa(steps[i].Attempt)})
	}
	t.End = x + endGap
	t.Width = t.End + dotRadius + 2
	if !redrive.Off.V {
		t.Redrive = "again after " + catalog.Short(redrive.Every.V)
		if redrive.Max.V > 1 {
			t.Redrive += ", ×" + strconv.Itoa(redrive.Max.V)
		}
		t.Width += 8 + 7*len([]rune(t.Redrive))
	}
	t.Least = legible(t.Width)
	return t
}

// legible is how narrow a drawing of some width may become.
func legible(width int) int { return width * 2 / 3 }

// length is how long the line of a delay is.
func length(d, least time.Duration) int {
	if d <= 0 {
		return shortest / 2
	}
	return min(longest, shortest+int(math.Round(doubling*math.Log2(float64(d)/float64(least)))))
}

func shortestDelay(steps []retry.Step) time.Duration {
	least := time.Duration(math.MaxInt64)
	for _, step := range steps {
		if step.Delay > 0 {
			least = min(least, step.Delay)
		}
	}
	return least
}

// words are read instead of the drawing.
func words(steps []retry.Step) string {
	text := "Attempt 1 at once"
	for i, step := range steps[1:] {
		if i >= mostDots {
			text += ", and so on up to attempt " + strconv.Itoa(len(steps))
			break
		}
		text += ", attempt " + strconv.Itoa(step.Attempt) + " after " + catalog.Brief(step.Delay)
	}
	return text + ", then a dead letter."
}
