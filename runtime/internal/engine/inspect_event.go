package engine

import (
	"github.com/busgen/busgen/runtime/event"
)

// Statuses returns the statuses of events.
func Statuses() []string {
	return []string{event.StatusPending, event.StatusProcessing, event.StatusDone, event.StatusDLQ}
}

// States returns the states of deliveries.
func States() []string {
	return []string{
		event.StatePending, event.StateRunning, event.StateWaiting, event.StateHeld, event.StateDone, event.StateDead, event.StateDiscarded,
	}
}
