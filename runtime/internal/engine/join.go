package engine

import (
	"context"

	"github.com/google/uuid"
)

// Joiner is a log whose events can become part of a transaction that the program has begun
// on a connection of its own. An engine that has no such connections does not implement it.
type Joiner interface {
	// Join stores records, in order, in the transaction that the program has begun on x, and
	// sets their Seq, as [Appender.Append] does. They are in the log when the program commits.
	// On an error none of them is part of the transaction, unless SQLite has rolled
	// back all of it.
	//
	// The error is a *[event.JoinError] if x is nothing that events can be stored with; then nothing
	// was written.
	Join(ctx context.Context, x any, records []Record) error

	// Holds tells whether the log has an event. One of a transaction that has not been
	// committed is not there.
	Holds(ctx context.Context, seq int64, id uuid.UUID) (bool, error)
}
