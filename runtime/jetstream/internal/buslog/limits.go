package buslog

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// A rate with a key has a bucket for each value of the key, as long as that is not full. A
// record has a greatest size, so that the buckets are in many of them. The time by which
// they count is a record of its own.

// limitRecord is the time by which rates count.
type limitRecord struct {
	Time engine.LimitTime `json:"time"`
}

// bucketRecord is what the rates of some limits and keys have used.
type bucketRecord struct {
	Buckets map[string]engine.LimitBucket `json:"buckets"` // by limit and key
}

// bucketRecords is how many there are.
const bucketRecords = 256

// buckets is such a record, as it was read.
type buckets struct {
	bucketRecord
	rev int64
}

func bucketOf(l engine.LimitLease) string { return l.Limit + "\x00" + l.Key }

// recordOf returns in which record a bucket is.
func recordOf(bucket string) int {
	h := fnv.New32a()
	h.Write([]byte(bucket))
	return int(h.Sum32() % bucketRecords)
}

// applyLimit notes what the rates have used. rest is what the subject has behind the kind: nothing for
// the time.
func (v *logView) applyLimit(rest string, m stream.Stored) error {
	if rest == "" {
		return newer(m, &v.limitsRev, &v.limits)
	}
	at, err := strconv.ParseUint(rest, 16, 8)
	if err != nil {
		return err
	}
	one := &v.buckets[at]
	return newer(m, &one.rev, &one.bucketRecord)
}

// LeaseLimits implements [engine.LimitKeeper].
func (ed *editor) LeaseLimits(ctx context.Context, tick func(engine.LimitTime) engine.LimitTime, leases []engine.LimitLease) error {
	before := append([]engine.LimitLease(nil), leases...)
	return ed.edit(ctx, func() ([]*stream.Msg, error) {
		copy(leases, before)
		r, changed := limitRecord{tick(ed.limits.Time)}, map[int]bucketRecord{}
		now := r.Time.Now
		for i := range leases {
			name := bucketOf(leases[i])
			of := ed.bucketsToChange(changed, recordOf(name))
			maps.DeleteFunc(of, func(_ string, b engine.LimitBucket) bool { return !b.Full.After(now) })
			of[name] = leases[i].Move(now, of[name])
		}
		return ed.limitMsgs(r, changed), nil
	})
}

// ReturnLimits implements [engine.LimitKeeper].
func (ed *editor) ReturnLimits(ctx context.Context, unused []engine.LimitLease) error {
	return ed.edit(ctx, func() ([]*stream.Msg, error) {
		changed := map[int]bucketRecord{}
		for _, u := range unused {
			name := bucketOf(u)
			of := ed.bucketsToChange(changed, recordOf(name))
			if b, ok := of[name]; ok && b.Full.Equal(u.Until) {
				b.Full = u.Full
				of[name] = b
			}
		}
		return ed.limitMsgs(ed.limits, changed), nil
	})
}

// bucketsToChange returns the buckets of a record that is to be changed. The caller holds mu.
func (ed *editor) bucketsToChange(changed map[int]bucketRecord, at int) map[string]engine.LimitBucket {
	if changed[at].Buckets == nil {
		of := maps.Clone(ed.buckets[at].Buckets)
		if of == nil {
			of = map[string]engine.LimitBucket{}
		}
		changed[at] = bucketRecord{of}
	}
	return changed[at].Buckets
}

func (ed *editor) limitMsgs(r limitRecord, changed map[int]bucketRecord) []*stream.Msg {
	data, _ := json.Marshal(r)
	msgs := []*stream.Msg{{Subject: ed.subject(limitToken), Data: data, Only: true, Expect: stream.Expecting(ed.limitsRev)}}
	for _, at := range slices.Sorted(maps.Keys(changed)) {
		data, _ := json.Marshal(changed[at])
		msgs = append(msgs, &stream.Msg{Subject: ed.subject(limitToken, fmt.Sprintf("%02x", at)), Data: data, Only: true, Expect: stream.Expecting(ed.buckets[at].rev)})
	}
	return msgs
}
