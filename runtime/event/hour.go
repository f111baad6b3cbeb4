package event

import (
	"time"
)

// Hour counts events and dead letters in each of the 60 minutes before At, the oldest first.
type Hour struct {
	At time.Time `json:"at"` // when the log was read, and the last minute ends; UTC
	// Published counts events by the time of their publication, those of the bus itself
	// included. It is -1 for a minute that was not counted.
	Published []int `json:"published"`
	// Dead counts dead letters by the time of their death. Those that were retried,
	// discarded or purged since are no dead letters any more, and are not counted.
	Dead          []int              `json:"dead"`
	Subscriptions []SubscriptionHour `json:"subscriptions,omitempty"` // those with such dead letters, by name
}

// SubscriptionHour is the part of an [Hour] that one subscription has.
type SubscriptionHour struct {
	Name string `json:"name"`
	Dead []int  `json:"dead"`
}
