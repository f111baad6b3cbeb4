package busfile

import (
	"fmt"
	"strings"

	"github.com/busgen/busgen/internal/cli/terminal"
	"github.com/busgen/busgen/runtime/event"
)

// troubles says what an operator has to know first, the worst first.
func (c *call) troubles(status event.Status) string {
	var b strings.Builder
	if status.Unwritable != "" {
		hint := "The bus goes on by itself when that ends."
		if status.Unwritable == event.DiskFull {
			hint = "Free some space: the bus goes on by itself."
		}
		b.WriteString(c.trouble(terminal.Red, "Nothing can be stored:", fmt.Sprintf(" %s. %s", status.Unwritable, hint)))
	}
	switch o := status.Owner; {
	case o == nil:
		b.WriteString(c.trouble(terminal.Yellow, "No process has ever dispatched from it.", ""))
	case !o.Alive && o.PID == 0:
		b.WriteString(c.trouble(terminal.Red, "No process dispatches from it.", ""))
	case !o.Alive:
		b.WriteString(c.trouble(terminal.Red, "No process dispatches from it.",
			fmt.Sprintf(" The last one was %d, started %s.", o.PID, c.moment(o.Since))))
	}
	if status.CrashLoop {
		b.WriteString(c.trouble(terminal.Red, "Crash loop:",
			" the last process ended within 10 s of its start, while handlers were running. "+
				"Deliveries that another crash would make dead letters wait until a process has lived for 10 s."))
	}
	b.WriteString(c.stalledLines(status.Subscriptions))
	b.WriteString(c.breakerLines(status.Breakers))
	b.WriteString(c.waitlistLines(status.Waitlists))
	b.WriteString(c.pauseLines(status.Pauses))
	b.WriteString(c.newerLines(status.Subscriptions))
	if leftBehind(status.Running) {
		b.WriteString(c.andLine(c.running(status.Running), "running list"))
	}
	if status.DeadLetters > 0 {
		b.WriteString(c.andLine(terminal.Counted(status.DeadLetters, "dead letter"), "dlq groups"))
	}
	return b.String()
}

// trouble is a sentence that begins in a colour.
func (c *call) trouble(style terminal.Style, begins, rest string) string {
	return c.screen.Fold(c.screen.Paint(style, begins) + rest)
}

// andLine is a text with a command line to copy, which is not folded: a screen has it below the text.
func (c *call) andLine(text, verb string) string {
	if c.screen.Width > 0 {
		return c.screen.Fold(text+":") + "  " + c.line(verb) + "\n"
	}
	return text + ": " + c.line(verb) + "\n"
}

func (c *call) pauseLines(pauses []event.PauseState) string {
	var b strings.Builder
	for _, p := range pauses {
		what := "subscription " + ofKey(p.Subscription, p.Key)
		if p.Types != "" {
			what = "events of type " + p.Types
		}
		by := ""
		if p.Actor != "" {
			by = ", by " + p.Actor
		}
		if p.Reason != "" {
			by += ": " + p.Reason
		}
		b.WriteString(c.trouble(terminal.Yellow, "Paused",
			fmt.Sprintf(": %s, since %s%s", terminal.Clean(what), c.moment(p.Since), terminal.Clean(by))))
	}
	return b.String()
}

// stalledLines lists the subscriptions that stand still, with their owners.
func (c *call) stalledLines(subscriptions []event.SubscriptionState) string {
	var b strings.Builder
	for _, s := range subscriptions {
		for _, one := range s.Stalled {
			b.WriteString(c.trouble(terminal.Red, "Stands still", fmt.Sprintf(": %s, since %s: %s",
				terminal.Clean(s.Name), c.moment(one.Since), terminal.Clean(one.String()))))
		}
	}
	return b.String()
}

// newerLines lists versions that the dispatching program does not know.
func (c *call) newerLines(subscriptions []event.SubscriptionState) string {
	var b strings.Builder
	for _, s := range subscriptions {
		for _, n := range s.Newer {
			b.WriteString(c.trouble(terminal.Yellow, "Held",
				fmt.Sprintf(": %s of %s for %s, since %s: no program that knows this version has taken over",
					terminal.Counted(n.Events, "event"), terminal.Clean(versioned(n.Type, n.Version)), terminal.Clean(s.Name),
					c.moment(n.Since))))
		}
	}
	return b.String()
}
