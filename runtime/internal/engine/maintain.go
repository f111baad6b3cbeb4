package engine

import (
	"context"
	"time"
)

// Maintainer does the background work of a log. Its methods may run in several
// processes at once.
type Maintainer interface {
	// Prune deletes events from before the given time that every subscription
	// has settled and none keeps as a dead letter, in small steps that nobody
	// waits for. It returns how many.
	Prune(ctx context.Context, before time.Time) (int, error)

	// Compact gives the space of deleted events back, in small steps too. It
	// returns how many bytes; 0 for an engine whose server does that by itself.
	Compact(ctx context.Context) (int64, error)

	// Redrive makes dead deliveries due again, as the spec says, and returns
	// how many.
	Redrive(ctx context.Context, spec RedriveSpec) (int, error)
}

// RedriveSpec chooses the dead deliveries that are tried again by themselves.
type RedriveSpec struct {
	Subscription string
	Type         string
	// Reasons are those of dead letters, or kinds of their last attempts; all if
	// empty. Without ReasonCrash none is chosen that has ended the process.
	Reasons    []string
	DeadBefore time.Time // only those that died at this time or before
	Max        int       // only those that were redriven less often than this
	Limit      int       // at most this many in one call
}
