package runtime

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Stats are counts since the bus was opened.
type Stats struct {
	Recovery      Recovery            // what Start found; zero before
	Types         []TypeStats         // in the order of the catalogue, then by name
	Subscriptions []SubscriptionStats // in the order in which they were made
}

// Recovery is what [Bus.Start] found in the file.
type Recovery struct {
	Interrupted int   // deliveries whose handler ran when the last process died; charged an attempt
	Waiting     int   // deliveries that wait for a retry
	Dead        int   // dead letters
	Backlog     int64 // how many events the slowest subscription is behind, at most
}

// TypeStats counts for one event type, over all subscriptions.
type TypeStats struct {
	Type      string
	Published uint64 // events stored by this bus, or staged by its handlers
	Handled   uint64 // deliveries that succeeded
	Retried   uint64 // failed attempts that are tried again
	Dead      uint64 // deliveries that were given up
}

// SubscriptionStats counts for one subscription.
type SubscriptionStats struct {
	Name      string
	Pattern   string
	Handled   uint64 // deliveries that succeeded
	Failed    uint64 // failed attempts
	Retried   uint64 // of those, the ones that are tried again
	Dead      uint64 // deliveries that were given up
	Abandoned int64  // handlers that ignored their deadline and still run
}

// Stats returns the counts at this moment. It costs next to nothing.
func (b *Bus) Stats() Stats {
	b.mu.Lock()
	defer b.mu.Unlock()
	stats := Stats{Recovery: b.recovery, Types: b.counters.snapshot()}
	for _, s := range b.subscriptions {
		stats.Subscriptions = append(stats.Subscriptions, SubscriptionStats{
			Name: s.name, Pattern: s.pattern,
			Handled: s.handled.Load(), Failed: s.failed.Load(), Retried: s.retried.Load(),
			Dead: s.dead.Load(), Abandoned: s.abandoned.Load(),
		})
	}
	return stats
}

// typeCounts counts for one event type.
type typeCounts struct {
	published, handled, retried, dead atomic.Uint64
}

// counters counts for all event types. Those of the catalogue are there from
// the start, so that counting is a look-up and an addition; others, which a
// subscription by pattern may see, are added.
type counters struct {
	order []string
	known map[string]*typeCounts
	other sync.Map // string → *typeCounts
}

func newCounters(catalogue *Catalogue) *counters {
	c := &counters{known: map[string]*typeCounts{}}
	for _, t := range catalogue.types {
		c.order = append(c.order, t.Name())
		c.known[t.Name()] = &typeCounts{}
	}
	return c
}

func (c *counters) of(eventType string) *typeCounts {
	if counts := c.known[eventType]; counts != nil {
		return counts
	}
	counts, _ := c.other.LoadOrStore(eventType, &typeCounts{})
	return counts.(*typeCounts)
}

func (c *counters) published(eventType string, n int) { c.of(eventType).published.Add(uint64(n)) }

func (c *counters) snapshot() []TypeStats {
	stats := make([]TypeStats, 0, len(c.order))
	for _, name := range c.order {
		stats = append(stats, c.known[name].stats(name))
	}
	c.other.Range(func(name, counts any) bool {
		stats = append(stats, counts.(*typeCounts).stats(name.(string)))
		return true
	})
	slices.SortFunc(stats[len(c.order):], func(a, b TypeStats) int { return strings.Compare(a.Type, b.Type) })
	return stats
}

func (c *typeCounts) stats(name string) TypeStats {
	return TypeStats{
		Type: name, Published: c.published.Load(), Handled: c.handled.Load(),
		Retried: c.retried.Load(), Dead: c.dead.Load(),
	}
}
