package memory

import (
	"cmp"
	"context"
	"maps"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// limitKey is a bucket of a limit.
type limitKey struct{ limit, key string }

// LeaseLimits implements [engine.LimitKeeper].
func (l *Log) LeaseLimits(ctx context.Context, leases []engine.LimitLease) error {
	if err := cmp.Or(ctx.Err(), l.enter()); err != nil {
		return err
	}
	defer l.mu.Unlock()
	if l.limits == nil {
		l.limits = map[limitKey]time.Time{}
	}
	for i := range leases {
		lease := &leases[i]
		at := limitKey{lease.Limit, lease.Key}
		lease.Move(l.limits[at])
		maps.DeleteFunc(l.limits, func(_ limitKey, full time.Time) bool { return !full.After(lease.Now) })
		l.limits[at] = lease.Until
	}
	return nil
}

// ReturnLimits implements [engine.LimitKeeper].
func (l *Log) ReturnLimits(ctx context.Context, unused []engine.LimitLease) error {
	if err := cmp.Or(ctx.Err(), l.enter()); err != nil {
		return err
	}
	defer l.mu.Unlock()
	for _, u := range unused {
		if at := (limitKey{u.Limit, u.Key}); l.limits[at].Equal(u.Until) {
			l.limits[at] = u.Full
		}
	}
	return nil
}
