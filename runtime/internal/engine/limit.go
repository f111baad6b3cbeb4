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

// LimitRate is the numbers of a rate. Processes can have different ones of one limit. All go by those that
// were begun with last, of what leases from the bucket while it is not full.
type LimitRate struct {
	Step  time.Duration // between two that begin
	Span  time.Duration // how long it takes to fill the bucket
	Since time.Time     // when a process has begun with them, by LimitTime; zero for now
}

// LimitLead is how much of a rate is leased at once, at least one. That much is lost when
// the process is killed.
const LimitLead = 100 * time.Millisecond

// Lead returns how long a lease is.
func (r LimitRate) Lead() time.Duration { return max(LimitLead/r.Step, 1) * r.Step }

// late returns how much later a lease may be used, because timers ring late. Other processes wait for it.
func (r LimitRate) late() time.Duration { return min(r.Lead()/20, time.Second) }

// LimitBucket is what is stored of a rate. A bucket that is full is as good as none.
type LimitBucket struct {
	Full time.Time // when it is full again, if nothing more is leased
	LimitRate
}

// LimitLease is a part of a rate that one process may use up, and nobody else.
type LimitLease struct {
	Limit string
	Key   string // empty for none
	// Full and Until are the lease that the process has, or zero: its bucket is full again at
	// Full, and may be used up to Until. Move sets them to what it has then.
	Full, Until time.Time
	By          LimitRate     // that Full is by. Move sets it, too
	Rate        LimitRate     // of the process. Move sets its Since
	Delay       time.Duration // so long it may take until the process knows of it
}

// Move leases the next part of a bucket, at the given time of [LimitTime]. It returns the bucket to store.
func (l *LimitLease) Move(now time.Time, stored LimitBucket) LimitBucket {
	if l.Rate.Since.IsZero() || l.Rate.Since.After(now) {
		l.Rate.Since = now
	}
	by := l.Rate
	if stored.Full.After(now) && stored.Step > 0 && !by.Since.After(stored.Since) {
		by = stored.LimitRate
	}
	from := stored.Full
	if from.Equal(l.Until) { // no other process has leased anything since: the lease grows
		from = l.Full
	}
	from = Rescale(from, now, stored.Span, by.Span)
	l.Full = later(from, later(Rescale(l.Full, now, l.By.Span, by.Span), now))
	l.Until = later(l.Full.Add(by.late()), now.Add(l.Delay)).Add(by.Lead())
	l.By = by
	return LimitBucket{l.Until, by}
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
