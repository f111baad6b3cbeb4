package buslog

import (
	"context"
	"encoding/json"
	"maps"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// limitRecord is the record of what the rates of limits have used.
type limitRecord struct {
	Time    engine.LimitTime              `json:"time"`
	Buckets map[string]engine.LimitBucket `json:"buckets"` // by limit and key
}

func bucketOf(l engine.LimitLease) string { return l.Limit + "\x00" + l.Key }

// LeaseLimits implements [engine.LimitKeeper].
func (l *Log) LeaseLimits(ctx context.Context, tick func(engine.LimitTime) engine.LimitTime, leases []engine.LimitLease) error {
	before := append([]engine.LimitLease(nil), leases...)
	return l.edit(ctx, func() ([]*stream.Msg, error) {
		copy(leases, before)
		r := limitRecord{Time: tick(l.limits.Time), Buckets: maps.Clone(l.limits.Buckets)}
		if r.Buckets == nil {
			r.Buckets = map[string]engine.LimitBucket{}
		}
		now := r.Time.Now
		maps.DeleteFunc(r.Buckets, func(_ string, b engine.LimitBucket) bool { return !b.Full.After(now) })
		for i := range leases {
			at := bucketOf(leases[i])
			r.Buckets[at] = leases[i].Move(now, r.Buckets[at])
		}
		return l.limitMsg(r), nil
	})
}

// ReturnLimits implements [engine.LimitKeeper].
func (l *Log) ReturnLimits(ctx context.Context, unused []engine.LimitLease) error {
	return l.edit(ctx, func() ([]*stream.Msg, error) {
		r := limitRecord{Time: l.limits.Time, Buckets: maps.Clone(l.limits.Buckets)}
		for _, u := range unused {
			if b, ok := r.Buckets[bucketOf(u)]; ok && b.Full.Equal(u.Until) {
				b.Full = u.Full
				r.Buckets[bucketOf(u)] = b
			}
		}
		return l.limitMsg(r), nil
	})
}

func (l *Log) limitMsg(r limitRecord) []*stream.Msg {
	data, _ := json.Marshal(r)
	return []*stream.Msg{{Subject: l.subject(limitToken), Data: data, Only: true, Expect: stream.Expecting(l.limitsRev)}}
}
