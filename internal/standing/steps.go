package standing

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/busgen/busgen/internal/words"
	"github.com/busgen/busgen/runtime/event"
)

// Step is what a handler has done of an event, with what is said of it.
type Step struct {
	event.Step
	Took time.Duration
	Undo string // "yes" if it can be undone, "done" if it was, else empty
	Says string // its result, or what it waits for and until when; of a hidden result its size
}

// Steps returns the steps of a delivery, the oldest first. at writes a time.
func Steps(d event.DeliveryState, at func(time.Time) string) []Step {
	steps := make([]Step, len(d.Steps))
	for i, one := range d.Steps {
		s := &steps[i]
		s.Step, s.Took = one, max(one.At.Sub(one.Started), 0)
		if one.Undoes {
			s.Undo = "yes"
			if slices.ContainsFunc(d.Steps, func(o event.Step) bool {
				return o.Run == one.Run && o.Member == one.Member && o.Name == "undo:"+one.Name
			}) {
				s.Undo = "done"
			}
		}
		s.Says = says(one, at)
	}
	return steps
}

// says is the result of a step in words.
func says(s event.Step, at func(time.Time) string) string {
	var until time.Time
	timed := json.Unmarshal(s.Result, &until) == nil
	switch {
	case s.Kind == "sleep" && timed:
		return "until " + at(until)
	case s.Kind == "await":
		text := "waits"
		if len(s.Awaits) > 0 {
			text += " for " + words.Clean(strings.Join(s.Awaits, " or "))
		}
		if timed {
			text += " until " + at(until)
		}
		return text
	case s.Result == nil && s.Bytes > 0:
		return "(" + words.Counted(s.Bytes, "byte") + ")"
	}
	return string(s.Result)
}

// InSteps says where the handler of a delivery with steps stands.
func InSteps(d event.DeliveryState, at func(time.Time) string) string {
	switch {
	case d.Suspended && !d.Due.IsZero():
		return "waits in a step until " + at(d.Due)
	case d.Suspended:
		return "waits in a step"
	case d.Undoing && (d.State == event.StateWaiting || d.State == event.StateRunning):
		return d.State + ", its steps are undone"
	case d.Reason != "":
		return d.State + ": " + words.Clean(d.Reason)
	default:
		return d.State
	}
}
