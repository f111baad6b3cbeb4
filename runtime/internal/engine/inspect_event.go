package engine

import (
	"github.com/busgen/busgen/runtime/event"
)

// Statuses returns the statuses of events.
func Statuses() []string {
	return []string{event.StatusPending, event.StatusProcessing, event.StatusDone, event.StatusDLQ}
}
