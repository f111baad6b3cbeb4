package engine

import (
	"fmt"

	"github.com/busgen/busgen/runtime/event"
)

// RewindTo returns the sweep that rewinds a subscription to a place.
func RewindTo(t event.To, subscription string) (SweepSpec, error) {
	one, since, err := t.Place()
	if err != nil {
		return SweepSpec{}, fmt.Errorf("rewind a subscription: %w", err)
	}
	return SweepSpec{
		Kind: SweepRewind, Subscription: subscription, From: one, Filter: Filter{Filter: event.Filter{Since: since}}, Detail: "to " + t.String(),
	}, nil
}
