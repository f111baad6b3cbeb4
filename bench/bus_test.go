package main

import (
	"strings"
	"testing"

	"github.com/busgen/busgen/runtime"
)

// Each bus of a case is ended by its Shutdown, so that a case fails which is fast only because the bus looks again.
func TestACaseFailsWhoseBusHasStalled(t *testing.T) {
	stats := runtime.Stats{Subscriptions: []runtime.SubscriptionStats{{Name: "bench-0"}, {Name: "bench-1"}}}
	must(t, neverStalled(stats))
	stats.Subscriptions[1].Stalls = 2
	if err := neverStalled(stats); err == nil || !strings.Contains(err.Error(), `"bench-1" has stalled 2 times`) {
		t.Errorf("a bus that has stalled gives %v", err)
	}
}
