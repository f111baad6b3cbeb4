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
func (ed *editor) Show(ctx context.Context, a engine.Activity, answered []engine.BreakerRequest) error {
	return ed.edit(ctx, func() (msgs []*stream.Msg, err error) {
		msgs = append(msgs, ed.showMsg(&a))
		left := slices.DeleteFunc(slices.Clone(ed.requests), func(r engine.BreakerRequest) bool { return slices.ContainsFunc(answered, sameRequest(r)) })
		if len(left) != len(ed.requests) {
			msgs = append(msgs, ed.requestsMsg(left))
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
func (ed *editor) hide(ctx context.Context) error {
	return ed.edit(ctx, func() ([]*stream.Msg, error) {
		if _, shown := ed.activity.Processes[ed.instance]; !shown {
			return nil, nil
		}
		return []*stream.Msg{ed.showMsg(nil)}, nil
	})
}

// showMsg returns the record with what this process shows, or without for nil. The caller
// holds mu.
func (ed *editor) showMsg(a *engine.Activity) *stream.Msg {
	r := activityRecord{Processes: map[string]process{}}
	for instance, p := range ed.activity.Processes {
		if instance != ed.instance && ed.owns(instance) {
			r.Processes[instance] = p
		}
	}
	if a != nil {
		r.Processes[ed.instance] = process{os.Getpid(), time.Now().UTC(), *a}
	}
	data, _ := json.Marshal(r)
	return &stream.Msg{Subject: ed.subject(activityToken), Data: data, Only: true, Expect: stream.Expecting(ed.activityRev)}
}

// owns reports whether a process has a subscription. The caller holds mu.
func (v *logView) owns(instance string) bool {
	for _, s := range v.subs {
		if s.owners()[instance] != nil {
			return true
		}
	}
	return false
}

func (ed *editor) requestsMsg(all []engine.BreakerRequest) *stream.Msg {
	data, _ := json.Marshal(all)
	return &stream.Msg{Subject: ed.subject(requestToken), Data: data, Only: true, Expect: stream.Expecting(ed.requestsRev)}
}
