package engine

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// Meter counts what is not settled.
type Meter interface {
	// Pending returns how many events the subscription that is furthest behind
	// has yet to settle. It stops counting at limit.
	Pending(ctx context.Context, limit int) (int, error)

	// Lags returns where every durable consumer stands. It stops counting the
	// backlog of one at limit.
	Lags(ctx context.Context, limit int) ([]Lag, error)

	// Unhandled returns the durable consumers that have open deliveries and are not
	// among handled, and the event types, of those that are relevant, for which there
	// is no durable consumer although events of them were stored after a seq. It looks
	// at a limited number of events only.
	Unhandled(ctx context.Context, handled []Consumer, after int64, relevant func(eventType string) bool) (Unhandled, error)
}

// ProgressWatcher is a [Log] of which parts of a durable consumer can stand still while others are handled.
type ProgressWatcher interface {
	// Stalled returns what stands still of the durable consumers that this process polls, by their names. It is cheap
	// while all goes well.
	Stalled(ctx context.Context) (map[string][]Stalled, error)
}

// Lag is how far a durable consumer is behind.
type Lag struct {
	Name    string
	Pattern string
	Paused  bool      // by its name
	Backlog int       // events it has yet to settle, those that run or wait included
	AtMost  int       // no less than the backlog; more than Backlog where counting has stopped
	Partial bool      // counting has stopped before all of Running, Waiting, Held and Dead were counted
	Running int       // attempts that are known to run
	Waiting int       // for a retry, a delay or a snooze
	Held    int       // because their type is paused, or their version newer than the program
	Newer   []Newer   // which of them are held for their version, the oldest first
	Dead    int       // dead letters
	Oldest  time.Time // when the oldest event of the backlog was published; zero without backlog
}

// NoteNewer adds events that are held for their version.
func (l *Lag) NoteNewer(n Newer) {
	at := slices.IndexFunc(l.Newer, func(one Newer) bool { return one.Type == n.Type && one.Version == n.Version })
	if at < 0 {
		l.Newer = append(l.Newer, n)
	} else {
		one := &l.Newer[at]
		if one.Events += n.Events; n.Since.Before(one.Since) {
			one.Since = n.Since
		}
	}
	slices.SortFunc(l.Newer, func(a, b Newer) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Type, b.Type), cmp.Compare(a.Version, b.Version))
	})
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
