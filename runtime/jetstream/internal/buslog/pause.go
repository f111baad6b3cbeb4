package buslog

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/view"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// Pause implements [engine.Pauser].
func (ed *editor) Pause(ctx context.Context, p engine.Pause) error {
	return ed.pause(ctx, p, nil)
}

func (ed *editor) pause(ctx context.Context, p engine.Pause, note func(engine.Pause) *stream.Msg) error {
	err := ed.changeWith(ctx, func(r *registry) ([]*stream.Msg, error) {
		if p.Kind == engine.PauseSubscription {
			s := r.known(p.Target)
			if s == nil {
				return nil, r.unknown(p.Target)
			}
			p.Target = s.Name
		}
		if r.pauseAt(p) >= 0 {
			return nil, errSame
		}
		p.Since = time.Now().UTC()
		r.Pauses = append(r.Pauses, p)
		return noted(note, p), nil
	})
	return ed.told(err)
}

// Resume implements [engine.Pauser].
func (ed *editor) Resume(ctx context.Context, p engine.Pause) error {
	return ed.resume(ctx, p, nil)
}

func (ed *editor) resume(ctx context.Context, p engine.Pause, note func(engine.Pause) *stream.Msg) error {
	name := p.Of()
	var missing *event.NotFoundError
	err := ed.told(ed.changeWith(ctx, func(r *registry) ([]*stream.Msg, error) {
		missing = nil
		if s := r.known(p.Target); p.Kind == engine.PauseSubscription && s != nil {
			p.Target = s.Name
		}
		at := r.pauseAt(p)
		if at < 0 {
			missing = &event.NotFoundError{Thing: "pause of " + string(p.Kind), Name: name}
			for _, other := range r.Pauses {
				missing.Known = append(missing.Known, string(other.Kind)+" "+other.Of())
			}
			return nil, errSame
		}
		r.Pauses = slices.Delete(r.Pauses, at, at+1)
		return noted(note, p), nil
	}))
	if err == nil && missing != nil {
		return missing
	}
	return err
}

// noted returns the message of an entry in the audit, if one is wanted.
func noted(note func(engine.Pause) *stream.Msg, p engine.Pause) []*stream.Msg {
	if note == nil {
		return nil
	}
	return []*stream.Msg{note(p)}
}

// told calls the watchers before it returns.
func (ed *editor) told(err error) error {
	if err == nil {
		ed.teller.tell()
	}
	return err
}

// pauseAt returns where a pause is among those that are stored, or -1.
func (r *registry) pauseAt(p engine.Pause) int {
	return view.PauseAt(r.Pauses, p)
}

// Pauses implements [engine.Pauser].
func (ed *editor) Pauses(ctx context.Context) ([]engine.Pause, error) {
	if err := ed.sync(ctx); err != nil {
		return nil, err
	}
	if err := ed.enter(); err != nil {
		return nil, err
	}
	defer ed.mu.Unlock()
	return ed.pausesHere(), nil
}

// WatchPauses implements [engine.Pauser].
func (ed *editor) WatchPauses(ctx context.Context, f func([]engine.Pause)) error {
	pauses, err := ed.Pauses(ctx)
	if err != nil {
		return err
	}
	t := &ed.teller
	t.mu.Lock()
	defer t.mu.Unlock()
	t.watchers, t.paused = append(t.watchers, f), pauses
	f(pauses)
	return nil
}

// WatchRequests implements [engine.Reporter].
func (ed *editor) WatchRequests(f func([]engine.BreakerRequest)) {
	t := &ed.teller
	t.mu.Lock()
	t.asked = f
	t.mu.Unlock()
	ed.mu.Lock()
	ed.requestsNew = true
	ed.mu.Unlock()
	t.tell()
}

// teller calls the watchers of pauses and requests.
type teller struct {
	view *logView

	mu       sync.Mutex // held while watchers are called; taken before that of the view
	paused   []engine.Pause
	watchers []func([]engine.Pause)
	asked    func([]engine.BreakerRequest)
}

// tell calls the watchers of what has changed.
func (t *teller) tell() {
	t.mu.Lock()
	defer t.mu.Unlock()
	pauses, requests, asked := t.view.news()
	if !slices.Equal(pauses, t.paused) {
		t.paused = pauses
		for _, f := range t.watchers {
			f(pauses)
		}
	}
	if asked && t.asked != nil && len(requests) > 0 {
		t.asked(requests)
	}
}

// news returns what is paused, and what operators ask for, and whether that has changed since it was asked for last.
func (v *logView) news() (pauses []engine.Pause, requests []engine.BreakerRequest, asked bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	asked = v.requestsNew
	v.pausesNew, v.requestsNew = false, false
	return v.pausesHere(), slices.Clone(v.requests), asked
}

// pausesHere returns what is paused under the names of this process.
func (v *logView) pausesHere() []engine.Pause {
	return view.PausesHere(v.registry.Pauses, v.registry.Types, v.here, func(name string) string {
		if s := v.registry.known(name); s != nil {
			return cmp.Or(v.subs[s.ID].calledHere(), s.Name)
		}
		return name
	})
}

// typePaused reports whether a type is paused, under any of its names.
func (v *logView) typePaused(written string) bool {
	return view.TypePaused(v.registry.Pauses, v.registry.namesOf, written)
}

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
		return r.Subscription == other.Subscription && r.Key == other.Key && r.Actor == other.Actor && r.At.Equal(other.At)
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

// showMsg returns the record with what this process shows, or without for nil.
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

// owns reports whether a process has a subscription.
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
