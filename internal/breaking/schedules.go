package breaking

import (
	"fmt"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
)

// allSchedules compares which events are published by schedules. No record has schedules, so only
// catalogues that are read from files have something to compare.
func (c *comparison) allSchedules() {
	after := map[string]*catalog.Schedule{}
	for _, s := range c.after.Schedules {
		after[s.Name.V] = s
	}
	for _, old := range c.before.Schedules {
		event, now := old.Event.Name.V, after[old.Name.V]
		c.current = c.is[event]
		switch {
		case now == nil:
			c.report(draft{rule: scheduleRemoved, direction: diag.Backward, at: c.formerEvent(), was: old.Name.Pos, subject: event,
				key: event + " " + old.Name.V, message: "schedule " + old.Name.V + " of event " + event + " is gone",
				hint: "if it was renamed, its times begin anew at the first start"})
		case now.Event != c.current:
			c.current = now.Event
			c.report(draft{rule: scheduleMoved, direction: diag.Backward, at: now.Name.Pos, was: old.Name.Pos, subject: now.Event.Name.V,
				key: old.Name.V + " " + event + "->" + now.Event.Name.V, message: fmt.Sprintf("schedule %s publishes event %s, and published event %s", old.Name.V, now.Event.Name.V, event),
				hint: "give the new schedule a name of its own if nothing that was missed is to be published"})
		}
	}
}
