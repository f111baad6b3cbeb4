package page

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/busgen/busgen/internal/words"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
)

// hour is what happened in the last hour, as curves.
type hour struct {
	Sparks []spark
	More   int // subscriptions with dead letters that have no curve
}

// spark is a curve with a bar for each minute. Words say the same to those who do not see it.
type spark struct {
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
func (spark) Width() int { return 60 * sparkStep }

// Height is that of the SVG.
func (spark) Height() int { return sparkHeight }

// countedHour returns the counts of the last hour, as they were a moment ago if counting takes long.
func (q *request) countedHour() (event.Hour, error) {
	return q.page.hours.get(q, func(ctx context.Context, file *inspect.File, _ time.Time) (event.Hour, error) {
		return file.Hour(ctx)
	})
}

// hourOf returns the curve of the dead letters of one subscription; nil if there was none in the last hour.
func (q *request) hourOf(subscription string) (*spark, error) {
	found, err := q.countedHour()
	for _, s := range found.Subscriptions {
		if s.Name == subscription {
			one := sparkOf("Dead letters of the last hour", "dead letter", s.Dead)
			one.Bad = true
			return &one, err
		}
	}
	return nil, err
}

// hour returns the last hour as curves.
func (q *request) hour() (hour, error) {
	found, err := q.countedHour()
	if err != nil {
		return hour{}, err
	}
	h := hour{Sparks: []spark{
		sparkOf("Events published", "event", found.Published),
		sparkOf("Dead letters", "dead letter", found.Dead),
	}}
	worst := slices.SortedStableFunc(slices.Values(found.Subscriptions), func(a, b event.SubscriptionHour) int {
		return cmp.Compare(sum(b.Dead), sum(a.Dead))
	})
	if len(worst) > mostSparks {
		h.More, worst = len(worst)-mostSparks, worst[:mostSparks]
	}
	for _, s := range worst {
		one := sparkOf("Dead letters", "dead letter", s.Dead)
		one.Of = clip(s.Name, 200)
		h.Sparks = append(h.Sparks, one)
	}
	for i := range h.Sparks[1:] {
		h.Sparks[i+1].Bad = true
	}
	return h, nil
}

// sparkOf draws counts. A minute with -1 was not counted.
func sparkOf(title, thing string, minutes []int) spark {
	s := spark{Title: title}
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
		s.Words = fmt.Sprintf("%s, at most %s in a minute, %s", words.Counted(sum(minutes), thing), words.Number(most), minutesAgo(minutes, most))
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
