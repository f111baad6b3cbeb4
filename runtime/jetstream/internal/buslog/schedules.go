package buslog

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// DeclareSchedules implements [engine.Timetable].
func (cl *cluster) DeclareSchedules(ctx context.Context, specs []engine.ScheduleSpec, now time.Time) (all []event.Schedule, err error) {
	if err := cl.mayDispatch(ctx); err != nil {
		return nil, err
	}
	err = cl.edit(ctx, func() ([]*stream.Msg, error) {
		all = nil
		for _, spec := range specs {
			one := event.Schedule{Since: now, Passed: now}
			if known := scheduleIn(cl.schedules, spec.Name); known != nil {
				one = *known
			}
			one.Name, one.Type, one.Rule = spec.Name, spec.Type, spec.Rule
			all = append(all, one)
		}
		if len(all) == 0 && len(cl.schedules) == 0 {
			return nil, nil
		}
		return []*stream.Msg{cl.schedulesMsg(all)}, nil
	})
	return all, err
}

// Pass implements [engine.Timetable].
func (cl *cluster) Pass(ctx context.Context, p engine.Passage) (passed bool, err error) {
	if err := cl.mayDispatch(ctx); err != nil {
		return false, err
	}
	if err := cl.declareTypesOf(ctx, p.Records); err != nil {
		return false, err
	}
	err = cl.edit(ctx, func() (msgs []*stream.Msg, err error) {
		all := slices.Clone(cl.schedules)
		one := scheduleIn(all, p.Name)
		if passed = one != nil && one.Passed.Equal(p.From); !passed {
			return nil, nil
		}
		one.Passed = p.To
		if n := len(p.Records); n > 0 {
			one.Event, one.At = p.Records[n-1].ID, p.At
		}
		for i := range p.Records {
			msgs = append(msgs, cl.eventMsg(&p.Records[i]))
		}
		return append(msgs, cl.schedulesMsg(all)), nil
	})
	return passed && err == nil, err
}

func (ed *editor) schedulesMsg(all []event.Schedule) *stream.Msg {
	data, _ := json.Marshal(all)
	return &stream.Msg{Subject: ed.subject(timeToken), Data: data, Only: true, Expect: stream.Expecting(ed.timesRev)}
}

// mayDispatch returns ErrNotOwner in a process that does not dispatch.
func (cl *cluster) mayDispatch(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := cl.enter(); err != nil {
		return err
	}
	defer cl.mu.Unlock()
	if !cl.dispatching {
		return engine.ErrNotOwner
	}
	return nil
}

// scheduleIn returns the schedule of a name, or nil.
func scheduleIn(all []event.Schedule, name string) *event.Schedule {
	for i := range all {
		if all[i].Name == name {
			return &all[i]
		}
	}
	return nil
}

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

// bucketsToChange returns the buckets of a record that is to be changed.
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
