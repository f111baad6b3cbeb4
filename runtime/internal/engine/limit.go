package engine

import (
	"context"
	"time"
)

// LimitKeeper keeps what the rates of limits have used, for all processes and starts.
type LimitKeeper interface {
	// LeaseLimits moves buckets on, all in one transaction that survives the death of the
	// process when it returns. In the transaction it calls tick with the time that is stored,
	// zero if none is, and stores what that returns. Then it calls Move of each lease with this time
	// and the stored bucket, zero if there is none, and stores what that returns. All of
	// this happens again if the transaction begins anew. Buckets that are full again are
	// forgotten sooner or later.
	LeaseLimits(ctx context.Context, tick func(stored LimitTime) LimitTime, leases []LimitLease) error

	// ReturnLimits gives back what is left of leases, from Full to Until, unless their
	// buckets have moved on since.
	ReturnLimits(ctx context.Context, unused []LimitLease) error
}

// LimitTime is the clock of all rates of a log. It never goes back, and all processes follow
// it, so that no two of them see a bucket at different times.
type LimitTime struct {
	Now  time.Time
	Wall time.Time // what the wall clock said then: it tells how long nobody has looked
}

// LimitBucket is what is stored of a rate. A bucket that is full is as good as none.
type LimitBucket struct {
	Full time.Time     // when it is full again, if nothing more is leased
	Span time.Duration // how long it takes to fill it
}

// LimitLease is a part of a rate that one process may use up, and nobody else.
type LimitLease struct {
	Limit string
	Key   string // empty for none
	// Full and Until are the lease that the process has, or zero: its bucket is full again at
	// Full, and may be used up to Until. Move sets them to what it has then.
	Full, Until time.Time
	Ahead       time.Duration // how long the lease is to be
	Late        time.Duration // how much later it may be used
	Delay       time.Duration // so long it may take until the process knows of it
	Span        time.Duration // how long it takes to fill the bucket
}

// Move leases the next part of a bucket, at the given time of [LimitTime]. It returns the bucket to store.
func (l *LimitLease) Move(now time.Time, stored LimitBucket) LimitBucket {
	from := stored.Full
	switch {
	case from.Equal(l.Until): // nobody else has leased anything since: the lease grows
		from = l.Full
	case stored.Span != l.Span: // of other numbers
		from = Rescale(from, now, stored.Span, l.Span)
	}
	l.Full = later(from, later(l.Full, now))
	l.Until = later(l.Full.Add(l.Late), now.Add(l.Delay)).Add(l.Ahead)
	return LimitBucket{Full: l.Until, Span: l.Span}
}

// Rescale returns when a bucket is full again that gets other numbers: the same part of it is used
// up as before, so a change gives nobody a burst. It takes no longer to be full than from empty on.
func Rescale(full, now time.Time, before, after time.Duration) time.Time {
	left := full.Sub(now)
	if left <= 0 || before == after || before <= 0 {
		return full
	}
	return now.Add(min(time.Duration(float64(left)/float64(before)*float64(after)), after))
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
