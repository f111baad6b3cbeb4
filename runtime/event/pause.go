package event

import (
	"time"
)

// Pause says what is not delivered at the moment: a subscription (or a group) by
// its name, or the event types that match a pattern. Either Subscription is set, alone or with Key, or Types is.
type Pause struct {
	Subscription string
	Key          string // of the deliveries of the subscription; empty for all of them
	Types        string
	Since        time.Time // UTC
	Actor        string    // who made it: user@host, or a process that did it by itself
	Reason       string    // in words; empty if none was given
}
