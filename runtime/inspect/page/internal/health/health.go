// Package health says in sentences how a bus is doing.
package health

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/busgen/busgen/internal/words"
	"github.com/busgen/busgen/runtime/event"
)

// Health is how a bus is doing, in words.
type Health struct {
	Level   string // good, warn or bad
	Summary string
	Items   []Item // what is wrong, the worst first
}

// Item is one thing that is wrong, or that an operator should know.
type Item struct {
	Level string // bad or warn
	Text  string
}

// oldBacklog is the age from which on a backlog is worth a sentence.
const oldBacklog = 10 * time.Minute

// Of puts a status into words.
func Of(s event.Status) Health {
	var h Health
	bad := func(format string, args ...any) {
		h.Items = append(h.Items, Item{"bad", fmt.Sprintf(format, args...)})
	}
	open, old := 0, time.Time{}
	for _, one := range s.Subscriptions {
		open += one.Backlog
		if !one.Oldest.IsZero() && (old.IsZero() || one.Oldest.Before(old)) {
			old = one.Oldest
		}
	}
	alive := s.Owner != nil && s.Owner.Alive
	if s.Unwritable != "" {
		bad("Nothing can be stored: %s.", s.Unwritable)
	}
	switch {
	case s.Owner == nil:
		h.Items = append(h.Items, Item{"warn", "No process has ever dispatched from this bus."})
	case !alive && open > 0:
		bad("No process dispatches: %s to be handled, the oldest from %s.", stand(open), words.Ago(old, s.At))
	case !alive:
		h.Items = append(h.Items, Item{"warn", "No process dispatches. All events are settled."})
	}
	for _, one := range s.Subscriptions {
		for _, still := range one.Stalled {
			bad("%s stands still for %s: %s.", one.Name, words.Span(max(s.At.Sub(still.Since), 0)), still)
		}
		switch {
		case one.Unhandled:
			bad("%s has a backlog and no handler: it was renamed without an alias, or forgotten.", one.Name)
		case one.Saturated:
			bad("%s is saturated: its handlers are busy all the time while its backlog grows.", one.Name)
		}
	}
	for _, b := range s.Breakers {
		bad("The circuit breaker of %s is %s: %d of the last %d deliveries failed.",
			b.Subscription, b.State, b.Failures, b.Deliveries)
	}
	return h.sum(s, alive)
}

// sum adds what is no fault by itself, and the summary.
func (h Health) sum(s event.Status, alive bool) Health {
	warn := func(format string, args ...any) {
		h.Items = append(h.Items, Item{"warn", fmt.Sprintf(format, args...)})
	}
	for _, one := range s.Subscriptions {
		switch age := s.At.Sub(one.Oldest); {
		case one.Paused && one.Backlog > 0:
			warn("%s is paused, and %s for it.", one.Name, wait(one.Backlog))
		case one.Paused:
			warn("%s is paused.", one.Name)
		case alive && !one.Oldest.IsZero() && age >= oldBacklog && !one.Unhandled:
			warn("The oldest event of %s waits for %s.", one.Name, words.Span(age))
		}
	}
	for _, one := range s.Subscriptions {
		for _, n := range one.Newer {
			warn("%s for %s: the program does not know version %d of %s. Held for %s.",
				wait(n.Events), one.Name, n.Version, n.Type, words.Span(max(s.At.Sub(n.Since), 0)))
		}
	}
	for _, p := range s.Pauses {
		if p.Types != "" {
			warn("Events of type %s are paused.", p.Types)
		}
	}
	if n := abandoned(s.Running); n > 0 {
		warn("%s left behind.", haveIgnored(n))
	}
	if n := s.DeadLetters; n > 0 {
		warn("%s to be looked at.", standLetters(n))
	}
	slices.SortStableFunc(h.Items, func(a, b Item) int { return strings.Compare(a.Level, b.Level) }) // bad before warn
	h.Level, h.Summary = "good", "All is well."
	for _, item := range h.Items {
		if item.Level == "bad" {
			h.Level, h.Summary = "bad", "Something is wrong."
			return h
		}
		h.Level, h.Summary = "warn", "It works, with remarks."
	}
	if h.Level == "warn" && !alive {
		h.Summary = "It is at rest."
	}
	return h
}

func abandoned(running []event.Running) (n int) {
	for _, r := range running {
		if r.Abandoned {
			n++
		}
	}
	return n
}

// stand is "1 delivery is", "2 deliveries are".
func stand(n int) string {
	if n == 1 {
		return "1 delivery is"
	}
	return words.Number(n) + " deliveries are"
}

func standLetters(n int) string {
	if n == 1 {
		return "1 dead letter is"
	}
	return words.Number(n) + " dead letters are"
}

// haveIgnored is "1 handler has ignored its deadline and was", "2 handlers have ignored their deadlines and were".
func haveIgnored(n int) string {
	if n == 1 {
		return "1 handler has ignored its deadline and was"
	}
	return words.Number(n) + " handlers have ignored their deadlines and were"
}

// wait is "1 event waits", "2 events wait".
func wait(n int) string {
	if n == 1 {
		return "1 event waits"
	}
	return words.Number(n) + " events wait"
}
