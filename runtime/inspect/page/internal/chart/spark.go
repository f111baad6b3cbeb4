// Package chart prepares what a page draws: curves of the last hour, and the time axis of the deliveries of an event,
// with the retries that are to come.
package chart

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/busgen/busgen/internal/words"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect/page/internal/texts"
)

// Hour is what happened in the last hour, as curves.
type Hour struct {
	Sparks []Spark
	More   int // subscriptions with dead letters that have no curve
}

// Spark is a curve with a bar for each minute. Words say the same to those who do not see it.
type Spark struct {
	Title string
	Of    string // the subscription; empty for all
	Bad   bool
	Words string
	Bars  string // the path of an SVG
}

const (
	// sparkStep of an SVG is a minute with its gap, sparkBar is without, and sparkHeight is the largest count.
	sparkStep, sparkBar, sparkHeight = 4, 3, 40
	// mostSparks is how many subscriptions have a curve: those with the most dead letters.
	mostSparks = 6
)

// Width is that of the SVG.
func (Spark) Width() int { return 60 * sparkStep }

// Height is that of the SVG.
func (Spark) Height() int { return sparkHeight }

// HourOf draws an hour.
func HourOf(found event.Hour) Hour {
	h := Hour{Sparks: []Spark{
		SparkOf("Events published", "event", found.Published),
		SparkOf("Dead letters", "dead letter", found.Dead),
	}}
	worst := slices.SortedStableFunc(slices.Values(found.Subscriptions), func(a, b event.SubscriptionHour) int {
		return cmp.Compare(sum(b.Dead), sum(a.Dead))
	})
	if len(worst) > mostSparks {
		h.More, worst = len(worst)-mostSparks, worst[:mostSparks]
	}
	for _, s := range worst {
		one := SparkOf("Dead letters", "dead letter", s.Dead)
		one.Of = texts.Clip(s.Name, 200)
		h.Sparks = append(h.Sparks, one)
	}
	for i := range h.Sparks[1:] {
		h.Sparks[i+1].Bad = true
	}
	return h
}

// SparkOf draws counts. A minute with -1 was not counted.
func SparkOf(title, thing string, minutes []int) Spark {
	s := Spark{Title: title}
	most, unknown := slices.Max(minutes), 0
	var bars strings.Builder
	for i, n := range minutes {
		switch {
		case n < 0:
			unknown++
		case n > 0:
			height := max(1, (n*sparkHeight+most/2)/most)
			fmt.Fprintf(&bars, "M%d %dv-%dh%dv%dz", i*sparkStep, sparkHeight, height, sparkBar, height)
		}
	}
	s.Bars = bars.String()
	if most > 0 {
		s.Words = fmt.Sprintf("%s, at most %s in a minute, %s",
			words.Counted(sum(minutes), thing), words.Number(most), minutesAgo(minutes, most))
	} else {
		s.Words = "none"
	}
	switch {
	case unknown == 1:
		s.Words += "; the first minute was not counted"
	case unknown > 1:
		s.Words += fmt.Sprintf("; the first %s minutes were not counted", words.Number(unknown))
	}
	return s
}

// minutesAgo says when the last of the largest counts was.
func minutesAgo(minutes []int, most int) string {
	ago := slices.Index(slices.Collect(func(yield func(int) bool) {
		for _, n := range slices.Backward(minutes) {
			if !yield(n) {
				return
			}
		}
	}), most)
	if ago == 0 {
		return "which is the last one"
	}
	return words.Counted(ago, "minute") + " ago"
}

// sum adds what was counted.
func sum(minutes []int) (all int) {
	for _, n := range minutes {
		all += max(0, n)
	}
	return all
}
