package engine

import (
	"context"
	"time"
)

// Watcher follows what is appended to a log.
type Watcher interface {
	// Watch follows the events of a type, by any name that this process knows for it.
	// The Watch has every event that is appended after the call, by this process or by
	// another. With a time it begins before that, with the events of the log that were
	// published then or later, and possibly with older ones.
	Watch(ctx context.Context, eventType string, since time.Time) (Watch, error)
}

// Watch is a place in the log that moves forward. It is for one goroutine.
type Watch interface {
	// Next returns the events that follow, up to limit and the oldest first, and moves
	// behind them. If there are none it waits for the next one: those of another process
	// come within a moment. A context that ends moves nothing. When a backup is restored
	// into the log Next returns ErrRestored, and when the log is closed ErrClosed.
	//
	// Of the records Seq, ID, Type, Version, Payload, Metadata and CreatedAt are set.
	Next(ctx context.Context, limit int) ([]Record, error)

	// Close ends the watch. It must be called, once.
	Close()
}
