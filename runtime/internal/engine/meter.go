package engine

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/event"
)

// Meter counts what is not settled.
type Meter interface {
	SubscriptionReader

	// Pending returns how many events the subscription that is furthest behind
	// has yet to settle. It stops counting at limit.
	Pending(ctx context.Context, limit int) (int, error)

	// Unhandled returns the durable consumers that have open deliveries and are not
	// among handled, and the event types, of those that are relevant, for which there
	// is no durable consumer although events of them were stored after a seq. It looks
	// at a limited number of events only.
	Unhandled(ctx context.Context, handled []Consumer, after int64, relevant func(eventType string) bool) (Unhandled, error)
}

// WithNewer returns what is held for its version, with more of that.
func WithNewer(all []event.Newer, n event.Newer) []event.Newer {
	at := slices.IndexFunc(all, func(one event.Newer) bool { return one.Type == n.Type && one.Version == n.Version })
	if at < 0 {
		all = append(all, n)
	} else {
		one := &all[at]
		if one.Events += n.Events; n.Since.Before(one.Since) {
			one.Since = n.Since
		}
	}
	slices.SortFunc(all, func(a, b event.Newer) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Type, b.Type), cmp.Compare(a.Version, b.Version))
	})
	return all
}

// Unhandled is what stays in a log because nobody handles it.
type Unhandled struct {
	Consumers []Backlog // in the order in which they were made
	Types     []string  // by name
	Last      int64     // the seq of the newest event
}

// Backlog is a durable consumer with open deliveries.
type Backlog struct {
	Name    string
	Pattern string
	Oldest  time.Time // when the oldest event that was found was published
}
