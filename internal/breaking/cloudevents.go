package breaking

import (
	"fmt"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
)

// outside compares what events are called as CloudEvents. No record has it, so only catalogues that are read from
// files have something to compare. A setting that the old catalogue lacks may be as the program has said it.
func (c *comparison) outside() {
	was, is := c.before.CloudEvents, c.after.CloudEvents
	if was == nil {
		return
	}
	at := was.Pos
	at.File, at.Line, at.Column = c.after.File, 1, 1
	if is == nil {
		is = &catalog.CloudEvents{Pos: at}
	}
	for _, one := range []struct {
		key     string
		was, is catalog.Value[string]
		effect  string
		hint    string
	}{
		{"source", was.Source, is.Source, "receivers know events by source and id, so they take events that are sent again for other ones",
			"tell those who receive the events; they can know both sources for a while"},
		{"type_prefix", was.TypePrefix, is.TypePrefix, "receivers do not know the new types, and what others send with the old ones is refused",
			"tell those who send and receive; WithCloudEvents can keep the old types of single events"},
		{"dataschema", was.DataSchema, is.DataSchema, "an event with a URI of the old form is read as one of the newest version of its payload",
			"keep it until no sender uses the old URIs"},
	} {
		if one.was.V == one.is.V {
			continue
		}
		place := one.is.Pos
		if !one.is.Written() {
			place = is.Pos
		}
		now := "is gone"
		if one.is.Written() {
			now = "is " + one.is.V
		}
		before := "was not written before"
		if one.was.Written() {
			before = "was " + one.was.V
		}
		c.current = nil
		c.report(draft{rule: cloudEventsChanged, direction: diag.Forward, at: place, was: one.was.Pos, subject: "cloudevents", key: one.key,
			message: fmt.Sprintf("%s of cloudevents %s, and %s: %s", one.key, now, before, one.effect), hint: one.hint})
	}
}
