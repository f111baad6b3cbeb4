package engine

import (
	"context"
	"time"
)

// Watcher follows what is appended to a log.
type Watcher interface {
	// Watch follows events. The Watch has every one that is appended after the call, by
	// this process or by another.
	Watch(ctx context.Context, spec WatchSpec) (Watch, error)
}

// WatchSpec says which events a Watch has.
type WatchSpec struct {
	// Types are globs over event types, by any name that this process knows for one.
	Types []string
	// Since makes the Watch begin before the call, with the events of the log that were
	// published then or later, and possibly with older ones. Zero for the call.
	Since time.Time
	// Deliverable leaves out events that were made for one subscription: those that an
	// operator has edited or imported.
	Deliverable bool
}

// Watch is a place in the log that moves forward. Read is for one goroutine at a time.
type Watch interface {
	// Read returns the events that follow, up to limit and the oldest first, and moves
	// behind them. No events and no error mean that the log ends here. passed is how many events,
	// of any type, were pruned after the watch began and before it came to them. When a backup
	// is restored into the log Read returns ErrRestored, and when the log is closed ErrClosed.
	//
	// Of the records Seq, ID, Type, Version, Payload, Metadata, CreatedAt and Due are set,
	// and Memo if other deliveries share the record.
	Read(ctx context.Context, limit int) (events []*Record, passed int64, err error)

	// Notify registers the function called when there may be something to read, and calls it once:
	// events of another process come within a moment. It is called from the engine's goroutines and must not block.
	Notify(wake func())

	// Close ends the watch. It must be called, once. Afterwards nothing is called.
	Close()
}
