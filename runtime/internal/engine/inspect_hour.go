package engine

import (
	"time"

	"github.com/busgen/busgen/runtime/event"
)

// HourMinutes is how many minutes an [event.Hour] has.
const HourMinutes = 60

// HourEvents is how many events engines read at most to count those of an [event.Hour].
const HourEvents = 10_000

// HourCount counts what happened in an [event.Hour].
type HourCount struct{ event.Hour }

// CountHour begins to count the hour that ends at a time.
func CountHour(at time.Time) *HourCount {
	return &HourCount{event.Hour{At: at.UTC(), Published: make([]int, HourMinutes), Dead: make([]int, HourMinutes)}}
}

// Begin returns when the first minute begins.
func (h *HourCount) Begin() time.Time { return h.At.Add(-HourMinutes * time.Minute) }

// Minute returns which minute a time is in, or -1 if it was before. What is after the last
// minute is in it: the clock of another machine may be ahead.
func (h *HourCount) Minute(at time.Time) int {
	since := at.Sub(h.Begin())
	if since < 0 {
		return -1
	}
	return min(int(since/time.Minute), HourMinutes-1)
}

// Publish counts an event.
func (h *HourCount) Publish(at time.Time) {
	if m := h.Minute(at); m >= 0 {
		h.Published[m]++
	}
}

// Died counts dead letters of a subscription. Calls for a subscription follow each other,
// and subscriptions are in the order of their names.
func (h *HourCount) Died(subscription string, minute, letters int) {
	if minute < 0 || minute >= HourMinutes {
		return
	}
	h.Dead[minute] += letters
	if n := len(h.Subscriptions); n == 0 || h.Subscriptions[n-1].Name != subscription {
		h.Subscriptions = append(h.Subscriptions, event.SubscriptionHour{Name: subscription, Dead: make([]int, HourMinutes)})
	}
	h.Subscriptions[len(h.Subscriptions)-1].Dead[minute] += letters
}

// CountedFrom says that events before a time were not read: what is known of the minute it is
// in is a part only.
func (h *HourCount) CountedFrom(at time.Time) {
	for m := range min(h.Minute(at)+1, HourMinutes) {
		h.Published[m] = -1
	}
}
