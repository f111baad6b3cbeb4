package busfile

import (
	"fmt"
	"slices"
	"time"

	"github.com/busgen/busgen/internal/cli/terminal"
	"github.com/busgen/busgen/runtime/event"
)

// steps shows what the handler of a delivery has stored, if it works in steps.
func (c *call) steps(d event.DeliveryState) string {
	if len(d.Steps) == 0 {
		return ""
	}
	return fmt.Sprintf("\n%s, step by step: %s\n", terminal.Clean(d.Subscription), c.standsAt(d)) + c.stepTable(d)
}

// standsAt says where the handler of a delivery stands.
func (c *call) standsAt(d event.DeliveryState) string {
	switch text := d.State; {
	case d.Suspended && !d.Due.IsZero():
		return "waits in a step until " + c.moment(d.Due)
	case d.Suspended:
		return "waits in a step"
	case d.Undoing && (d.State == event.StateWaiting || d.State == event.StateRunning):
		return text + ", its steps are undone"
	case d.Reason != "":
		return text + ": " + terminal.Clean(d.Reason)
	default:
		return text
	}
}

func (c *call) stepTable(d event.DeliveryState) string {
	table := &terminal.Table{Columns: []terminal.Column{
		{Title: "RUN", Right: true}, {Title: "MEMBER", Drop: 1}, {Title: "STEP"}, {Title: "KIND"}, {Title: "AT"}, {Title: "TOOK", Right: true},
		{Title: "ATTEMPT", Right: true, Drop: 2}, {Title: "UNDO"}, {Title: "RESULT", Least: 10},
	}}
	for _, s := range d.Steps {
		undo := ""
		if s.Undoes {
			undo = "yes"
			if slices.ContainsFunc(d.Steps, func(o event.Step) bool { return o.Run == s.Run && o.Member == s.Member && o.Name == "undo:"+s.Name }) {
				undo = "done"
			}
		}
		result := string(s.Result)
		if s.Result == nil && s.Bytes > 0 {
			result = fmt.Sprintf("(%s)", terminal.Counted(s.Bytes, "byte"))
		}
		table.Row(terminal.Number(s.Run), s.Member, s.Name, s.Kind, c.ago(s.At), terminal.Span(max(s.At.Sub(s.Started), time.Duration(0))), terminal.Number(s.Attempt), undo, result)
	}
	return table.Render(c.screen)
}
