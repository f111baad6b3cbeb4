package docpage

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/runtime/retry"
)

var noRedrive = catalog.Redrive{Off: catalog.Value[bool]{V: true}}

func TestATimelineHasADotForEachAttemptAndLinesThatGrowWithTheDelay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := retry.Default().With(
			retry.MaxAttempts(rapid.IntRange(1, 40).Draw(t, "attempts")),
			retry.WithBackoff(retry.Backoff(rapid.IntRange(0, 3).Draw(t, "backoff"))),
			retry.BaseDelay(time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "base"))),
			retry.MaxDelay(time.Duration(rapid.Int64Range(int64(time.Hour), int64(retry.LimitDelay)).Draw(t, "max"))),
			retry.Jitter(rapid.Float64Range(0, 0.5).Draw(t, "jitter")),
		)
		line := timelineOf(p, noRedrive)
		if len(line.Dots) != min(p.MaxAttempts, mostDots) || len(line.Segments) != len(line.Dots)-1 {
			t.Fatalf("%d dots and %d lines for %d attempts", len(line.Dots), len(line.Segments), p.MaxAttempts)
		}
		if first, last := line.Dots[0], line.Dots[len(line.Dots)-1]; first.Text != "1" || last.Text != number(p.MaxAttempts) {
			t.Errorf("the dots go from %s to %s", first.Text, last.Text)
		}
		shown, more := len(line.Dots), 0
		for i, s := range line.Segments {
			if s.Skipped {
				fmt.Sscanf(s.Text, "%d more", &more)
				shown += more
			}
			if s.From != line.Dots[i].X+dotRadius || s.To != line.Dots[i+1].X-dotRadius || s.From >= s.To {
				t.Errorf("line %d goes from %d to %d between %+v", i, s.From, s.To, line.Dots)
			}
			if s.BandWidth > 0 && (s.Band < s.From-1 || s.Band+s.BandWidth != s.To) {
				t.Errorf("the jitter of line %d is drawn outside of it: %+v", i, s)
			}
			if i > 0 && !s.Skipped && !line.Segments[i-1].Skipped && s.To-s.From < line.Segments[i-1].To-line.Segments[i-1].From {
				t.Errorf("a longer delay has a shorter line: %+v", line.Segments)
			}
		}
		if shown != p.MaxAttempts {
			t.Errorf("%d attempts of %d are drawn or counted", shown, p.MaxAttempts)
		}
		if line.End <= line.Dots[len(line.Dots)-1].X+dotRadius || line.Width <= line.End || line.Width > 900 {
			t.Errorf("it ends at %d of %d", line.End, line.Width)
		}
	})
}

func TestATimelineSaysWhatItShows(t *testing.T) {
	for attempts, want := range map[int]string{
		1:  "Attempt 1 at once, then a dead letter.",
		3:  "Attempt 1 at once, attempt 2 after 1s, attempt 3 after 2s, then a dead letter.",
		20: "Attempt 1 at once, attempt 2 after 1s, attempt 3 after 2s, attempt 4 after 4s, attempt 5 after 8s, attempt 6 after 16s, attempt 7 after 30s, attempt 8 after 30s, and so on up to attempt 20, then a dead letter.",
	} {
		if got := timelineOf(retry.Default().With(retry.MaxAttempts(attempts)), noRedrive).Words; got != want {
			t.Errorf("%d attempts: %s", attempts, got)
		}
	}
}

func TestTheFlowConnectsEachSubscriptionWithItsEvent(t *testing.T) {
	f := flowOf(parsed(t, `version: 1
package: p
events:
  a.done: { subscriptions: { one: {}, a-much-longer-name: {}, three: {} } }
  nobody.listens: {}
  b.done: { subscriptions: { four: {} } }
`))
	if len(f.Events) != 2 || len(f.Subscriptions) != 4 || len(f.Curves) != 4 {
		t.Fatalf("got %+v", f)
	}
	for i, c := range f.Curves {
		to := f.Subscriptions[i]
		from := f.Events[[]int{0, 0, 0, 1}[i]]
		if c.X1 != from.X+from.Width || c.Y1 != from.Y+boxHeight/2 || c.X2 > to.X || c.Y2 != to.Y+boxHeight/2 {
			t.Errorf("curve %+v does not go from %+v to %+v", c, from, to)
		}
	}
	for _, boxes := range [][]box{f.Events, f.Subscriptions} {
		for i, b := range boxes {
			if b.X < 0 || b.Y < 0 || b.X+b.Width > f.Width || b.Y+boxHeight > f.Height {
				t.Errorf("%+v is outside of %d × %d", b, f.Width, f.Height)
			}
			if i > 0 && b.Y < boxes[i-1].Y+boxHeight {
				t.Errorf("%+v overlaps %+v", b, boxes[i-1])
			}
			if letter*len(b.Text) > b.Width {
				t.Errorf("%+v is too narrow", b)
			}
		}
	}
}

func TestWithoutDeclaredSubscriptionsThereIsNoFlow(t *testing.T) {
	if f := flowOf(parsed(t, "version: 1\npackage: p\nevents: { a.done: {} }\n")); f != nil {
		t.Errorf("got %+v", f)
	}
}
