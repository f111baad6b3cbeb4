package busfile

import (
	"fmt"

	"github.com/busgen/busgen/internal/cli/terminal"
	"github.com/busgen/busgen/internal/standing"
	"github.com/busgen/busgen/runtime/event"
)

// steps shows what the handler of a delivery has stored, if it works in steps.
func (c *call) steps(d event.DeliveryState) string {
	if len(d.Steps) == 0 {
		return ""
	}
	return fmt.Sprintf("\n%s, step by step: %s\n", terminal.Clean(d.Subscription), standing.InSteps(d, c.moment)) + c.stepTable(d)
}

func (c *call) stepTable(d event.DeliveryState) string {
	table := &terminal.Table{Columns: []terminal.Column{
		{Title: "RUN", Right: true}, {Title: "MEMBER", Drop: 1}, {Title: "STEP"}, {Title: "KIND"}, {Title: "AT"}, {Title: "TOOK", Right: true},
		{Title: "ATTEMPT", Right: true, Drop: 2}, {Title: "UNDO"}, {Title: "RESULT", Least: 10},
	}}
	for _, s := range standing.Steps(d, c.moment) {
		table.Row(terminal.Number(s.Run), s.Member, s.Name, s.Kind, c.ago(s.At), terminal.Span(s.Took), terminal.Number(s.Attempt), s.Undo, s.Says)
	}
	return table.Render(c.screen)
}
