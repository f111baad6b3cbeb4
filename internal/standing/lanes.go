package standing

import (
	"github.com/busgen/busgen/runtime/event"
)

// Lane is what deliveries wait for, with the handlers that have places in its limit.
type Lane struct {
	event.Lane
	HeldBy []event.Running `json:"held_by"`
}

// Lanes returns lanes with their holders, and behind them the limits that are held and for which nothing is parked.
func Lanes(lanes []event.Lane, running []event.Running) (all []Lane) {
	parked := map[event.Place]bool{}
	for _, l := range lanes {
		parked[event.Place{Limit: l.Limit, Key: l.Key}] = true
		all = append(all, Lane{l, append([]event.Running{}, l.HeldBy(running)...)})
	}
	for _, r := range running {
		for _, p := range r.Limits {
			if !parked[p] {
				parked[p] = true
				l := event.Lane{Subscription: r.Subscription, Kind: event.LaneLimit, Limit: p.Limit, Key: p.Key}
				all = append(all, Lane{l, l.HeldBy(running)})
			}
		}
	}
	return all
}
