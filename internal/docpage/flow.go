package docpage

import "github.com/busgen/busgen/internal/catalog"

// A flow draws which event each declared subscription consumes: events on the
// left, subscriptions on the right, and a curve for each. Numbers are CSS pixels.
type flow struct {
	Width, Height int
	Least         int // of the width
	Events        []box
	Subscriptions []box
	Curves        []curve
}

type box struct {
	X, Y, Width, TextX, TextY int
	Text, ID                  string
}

type curve struct{ X1, Y1, C1, C2, X2, Y2 int }

const (
	boxHeight = 30
	boxGap    = 10
	between   = 110 // from the events to the subscriptions
	letter    = 8   // of the monospaced font, rounded up
	margin    = 2
)

func flowOf(c *catalog.Catalogue) *flow {
	left, right := 0, 0
	for _, e := range c.Events {
		for _, s := range e.Subscriptions {
			left = max(left, boxWidth(e.Name.V))
			right = max(right, boxWidth(s.Name.V))
		}
	}
	if left == 0 {
		return nil
	}
	f := &flow{Width: left + between + right + 2*margin}
	y := margin
	for _, e := range c.Events {
		n := len(e.Subscriptions)
		if n == 0 {
			continue
		}
		middle := y + (n*(boxHeight+boxGap)-boxGap)/2
		f.Events = append(f.Events, boxAt(margin, middle-boxHeight/2, left, e.Name.V, "event-"+e.Label()))
		for _, s := range e.Subscriptions {
			x := margin + left + between
			f.Subscriptions = append(f.Subscriptions, boxAt(x, y, right, s.Name.V, "subscription-"+s.Name.V))
			f.Curves = append(f.Curves, curve{
				X1: margin + left, Y1: middle, C1: margin + left + between/2, C2: margin + left + between/2,
				X2: x - 7, Y2: y + boxHeight/2, // an arrow's head is between
			})
			y += boxHeight + boxGap
		}
		y += boxGap
	}
	f.Least = legible(f.Width)
	f.Height = y - 2*boxGap + margin
	return f
}

func boxWidth(text string) int { return letter*len([]rune(text)) + 24 }

func boxAt(x, y, width int, text, id string) box {
	return box{X: x, Y: y, Width: width, TextX: x + 12, TextY: y + boxHeight/2 + 4, Text: text, ID: id}
}
