package engine

import "time"

// HourMinutes is how many minutes an [Hour] has.
const HourMinutes = 60

// HourEvents is how many events engines read at most to count those of an [Hour].
const HourEvents = 10_000

// Hour is what happened to a log in each of the 60 minutes before At, the oldest first.
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

// NewHour returns the hour that ends at a time, with nothing in it.
func NewHour(at time.Time) Hour {
	return Hour{At: at.UTC(), Published: make([]int, HourMinutes), Dead: make([]int, HourMinutes)}
}

// Begin returns when the first minute begins.
func (h *Hour) Begin() time.Time { return h.At.Add(-HourMinutes * time.Minute) }

// Minute returns which minute a time is in, or -1 if it was before. What is after the last
// minute is in it: the clock of another machine may be ahead.
func (h *Hour) Minute(at time.Time) int {
	since := at.Sub(h.Begin())
	if since < 0 {
		return -1
	}
	return min(int(since/time.Minute), HourMinutes-1)
}

// Publish counts an event.
func (h *Hour) Publish(at time.Time) {
	if m := h.Minute(at); m >= 0 {
		h.Published[m]++
	}
}

// Died counts dead letters of a subscription. Calls for a subscription follow each other,
// and subscriptions are in the order of their names.
func (h *Hour) Died(subscription string, minute, letters int) {
	if minute < 0 || minute >= HourMinutes {
		return
	}
	h.Dead[minute] += letters
	if n := len(h.Subscriptions); n == 0 || h.Subscriptions[n-1].Name != subscription {
		h.Subscriptions = append(h.Subscriptions, SubscriptionHour{subscription, make([]int, HourMinutes)})
	}
	h.Subscriptions[len(h.Subscriptions)-1].Dead[minute] += letters
}

// CountedFrom says that events before a time were not read: what is known of the minute it is
// in is a part only.
func (h *Hour) CountedFrom(at time.Time) {
	for m := range min(h.Minute(at)+1, HourMinutes) {
		h.Published[m] = -1
	}
}
