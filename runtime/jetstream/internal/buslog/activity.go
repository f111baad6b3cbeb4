package buslog

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// activityRecord is the record of what dispatching processes show.
type activityRecord struct {
	Processes map[string]process `json:"processes"` // by instance
}

// process is what one of them shows.
type process struct {
	PID      int             `json:"pid"`
	Since    time.Time       `json:"since"`
	Activity engine.Activity `json:"activity"`
}

// Show implements [engine.Reporter].
func (l *Log) Show(ctx context.Context, a engine.Activity, answered []engine.BreakerRequest) error {
	return l.edit(ctx, func() (msgs []*stream.Msg, err error) {
		msgs = append(msgs, l.showMsg(&a))
		left := slices.DeleteFunc(slices.Clone(l.requests), func(r engine.BreakerRequest) bool { return slices.ContainsFunc(answered, sameRequest(r)) })
		if len(left) != len(l.requests) {
			msgs = append(msgs, l.requestsMsg(left))
		}
		return msgs, nil
	})
}

func sameRequest(r engine.BreakerRequest) func(engine.BreakerRequest) bool {
	return func(other engine.BreakerRequest) bool {
		return r.Subscription == other.Subscription && r.Actor == other.Actor && r.At.Equal(other.At)
	}
}

// hide removes what this process shows.
func (l *Log) hide(ctx context.Context) error {
	return l.edit(ctx, func() ([]*stream.Msg, error) {
		if _, shown := l.activity.Processes[l.instance]; !shown {
			return nil, nil
		}
		return []*stream.Msg{l.showMsg(nil)}, nil
	})
}

// showMsg returns the record with what this process shows, or without for nil. The caller
// holds mu.
func (l *Log) showMsg(a *engine.Activity) *stream.Msg {
	r := activityRecord{Processes: map[string]process{}}
	for instance, p := range l.activity.Processes {
		if instance != l.instance && l.owns(instance) {
			r.Processes[instance] = p
		}
	}
	if a != nil {
		r.Processes[l.instance] = process{os.Getpid(), time.Now().UTC(), *a}
	}
	data, _ := json.Marshal(r)
	return &stream.Msg{Subject: l.subject(activityToken), Data: data, Only: true, Expect: stream.Expecting(l.activityRev)}
}

// owns reports whether a process has a subscription. The caller holds mu.
func (l *Log) owns(instance string) bool {
	for _, s := range l.subs {
		if s.owners()[instance] != nil {
			return true
		}
	}
	return false
}

func (l *Log) requestsMsg(all []engine.BreakerRequest) *stream.Msg {
	data, _ := json.Marshal(all)
	return &stream.Msg{Subject: l.subject(requestToken), Data: data, Only: true, Expect: stream.Expecting(l.requestsRev)}
}
