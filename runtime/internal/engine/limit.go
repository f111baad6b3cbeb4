package engine

import (
	"context"
	"time"
)

// LimitKeeper keeps what the rates of limits have used, for all processes and starts.
type LimitKeeper interface {
	// LeaseLimits moves buckets on, all in one transaction that survives the death of the
	// process when it returns. It sets Full and Until of each lease. Rows of buckets that
	// are full again are deleted sooner or later.
	LeaseLimits(ctx context.Context, leases []LimitLease) error

	// ReturnLimits gives back what is left of leases, from Full to Until, unless their
	// buckets have moved on since.
	ReturnLimits(ctx context.Context, unused []LimitLease) error
}

// LimitLease is a part of a rate that a process may use up. A bucket is one time, when it is
// full again. Its row is missing if that is over.
type LimitLease struct {
	Limit string
	Key   string // empty for none
	Now   time.Time
	// Full is when the bucket is full again for all that the caller knows, at least Now. The
	// lease begins at the later of this and what is stored, and Full becomes that.
	Full time.Time
	// Ahead is how long the lease is. Until becomes its end, which is stored.
	Ahead time.Duration
	Until time.Time
	// Most is how far ahead a stored time can be. One that is later comes from a clock that
	// was set back since, and Reset stands in for it.
	Most, Reset time.Time
}

// Move sets Full and Until by what is stored; zero for nothing.
func (l *LimitLease) Move(stored time.Time) {
	if stored.After(l.Most) {
		stored = l.Reset
	}
	if stored.After(l.Full) {
		l.Full = stored
	}
	l.Until = l.Full.Add(l.Ahead)
}
