package dispatch

import (
	"fmt"

	"github.com/google/uuid"
)

// HopLimitError says that a handler's publish was refused, because the event would be
// further from its root than the bus allows. An attempt that fails with it is permanent.
type HopLimitError struct {
	EventType  string    // what was to be published
	Parent     uuid.UUID // the event whose handler has called Publish
	ParentType string
	Hops       int // what the event would have had
	Limit      int
}

func (*HopLimitError) steer() {}

// Error names both types, and says what to do.
func (e *HopLimitError) Error() string {
	return fmt.Sprintf("%s was not published: event %s of type %s is %d hops from the event that everything began with, and the limit is %d: "+
		"handlers publish events whose handlers publish events; stop one of them, or raise the limit (WithHopLimit) if that is meant",
		e.EventType, e.Parent, e.ParentType, e.Hops-1, e.Limit)
}

// HandlerName returns the name of the subscription whose handler this is: in a group the
// name of the member.
func (a *Attempt) HandlerName() string { return a.handler.Name }
