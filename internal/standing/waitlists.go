package standing

import (
	"github.com/busgen/busgen/runtime/event"
)

// Waitlist is what deliveries wait for, with the handlers that have places in its limit.
type Waitlist struct {
	event.Waitlist
	HeldBy []event.Running `json:"held_by"`
}

// Waitlists returns waitlists with their holders, and behind them the limits that are held and for which nothing is
// parked.
func Waitlists(waitlists []event.Waitlist, running []event.Running) (all []Waitlist) {
	parked := map[event.Place]bool{}
	for _, l := range waitlists {
		parked[event.Place{Limit: l.Limit, Key: l.Key}] = true
		all = append(all, Waitlist{l, append([]event.Running{}, l.HeldBy(running)...)})
	}
	for _, r := range running {
		for _, p := range r.Limits {
			if !parked[p] {
				parked[p] = true
				l := event.Waitlist{Subscription: r.Subscription, Kind: event.WaitlistLimit, Limit: p.Limit, Key: p.Key}
				all = append(all, Waitlist{l, l.HeldBy(running)})
			}
		}
	}
	return all
}
