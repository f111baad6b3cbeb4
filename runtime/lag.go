package runtime

import (
	"context"
	"slices"
	"time"
)

// MaxBacklog is where the backlog of a subscription is no longer counted:
// [Lag].Backlog is this number for all that is more.
const MaxBacklog = 100_000

// Lag is where a durable subscription, or a group, stands.
type Lag struct {
	Subscription string `json:"subscription"` // or the group
	Pattern      string `json:"pattern"`      // globs over event types, with spaces between them
	Here         bool   `json:"here"`         // this bus has a handler for it
	Paused       bool   `json:"paused"`       // by its name
	// Backlog is how many events it has yet to settle, at most [MaxBacklog]. It
	// includes Running, Waiting and Held.
	Backlog int `json:"backlog"`
	Running int `json:"running"` // handlers that have been running for 5 ms or more
	Waiting int `json:"waiting"` // for a retry, a delay or a snooze
	Held    int `json:"held"`    // because their event type is paused
	Dead    int `json:"dead"`    // dead letters
	// Oldest is when the oldest event of the backlog was published; UTC, zero
	// without a backlog.
	Oldest time.Time `json:"oldest,omitzero"`
}

// Lag returns where every subscription of the file stands, in the order in which
// they were made, those that nobody handles included. It reads the file, which
// takes the longer the more there is to count; what was settled in the last few
// milliseconds may not be in it yet. The error is a *[StorageError], or
// [ErrShutdown].
func (b *Bus) Lag(ctx context.Context) ([]Lag, error) {
	found, err := b.log.Lags(ctx, MaxBacklog)
	if err != nil {
		return nil, public(err)
	}
	b.mu.Lock()
	feeds := b.feeds
	b.mu.Unlock()
	lags := make([]Lag, len(found))
	for i, one := range found {
		here := slices.ContainsFunc(feeds, func(f *feed) bool { return f.name == one.Name })
		lags[i] = Lag{
			Subscription: one.Name, Pattern: one.Pattern, Here: here, Paused: one.Paused, Backlog: one.Backlog,
			Running: one.Running, Waiting: one.Waiting, Held: one.Held, Dead: one.Dead, Oldest: one.Oldest,
		}
	}
	return lags, nil
}
