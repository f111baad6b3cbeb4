package memory

import (
	"cmp"
	"context"
	"maps"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// limitKey is a bucket of a limit.
type limitKey struct{ limit, key string }

// LeaseLimits implements [engine.LimitKeeper].
func (l *Log) LeaseLimits(ctx context.Context, tick func(engine.LimitTime) engine.LimitTime, leases []engine.LimitLease) error {
	if err := cmp.Or(ctx.Err(), l.enter()); err != nil {
		return err
	}
	defer l.mu.Unlock()
	l.limitTime = tick(l.limitTime)
	now := l.limitTime.Now
	if l.limits == nil {
		l.limits = map[limitKey]engine.LimitBucket{}
	}
	maps.DeleteFunc(l.limits, func(_ limitKey, b engine.LimitBucket) bool { return !b.Full.After(now) })
	for i := range leases {
		lease := &leases[i]
		at := limitKey{lease.Limit, lease.Key}
		l.limits[at] = lease.Move(now, l.limits[at])
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
		at := limitKey{u.Limit, u.Key}
		if b := l.limits[at]; b.Full.Equal(u.Until) {
			b.Full = u.Full
			l.limits[at] = b
		}
	}
	return nil
}
