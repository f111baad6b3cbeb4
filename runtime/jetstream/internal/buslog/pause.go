package buslog

import (
	"context"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/view"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// Pause implements [engine.Pauser].
func (l *Log) Pause(ctx context.Context, p engine.Pause) error {
	return l.pause(ctx, p, nil)
}

func (l *Log) pause(ctx context.Context, p engine.Pause, note func(engine.Pause) *stream.Msg) error {
	err := l.changeWith(ctx, func(r *registry) ([]*stream.Msg, error) {
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
	return l.told(err)
}

// Resume implements [engine.Pauser].
func (l *Log) Resume(ctx context.Context, p engine.Pause) error {
	return l.resume(ctx, p, nil)
}

func (l *Log) resume(ctx context.Context, p engine.Pause, note func(engine.Pause) *stream.Msg) error {
	name := p.Target
	var missing *event.NotFoundError
	err := l.told(l.changeWith(ctx, func(r *registry) ([]*stream.Msg, error) {
		missing = nil
		if s := r.known(p.Target); p.Kind == engine.PauseSubscription && s != nil {
			p.Target = s.Name
		}
		at := r.pauseAt(p)
		if at < 0 {
			missing = &event.NotFoundError{Thing: "pause of " + string(p.Kind), Name: name}
			for _, other := range r.Pauses {
				missing.Known = append(missing.Known, string(other.Kind)+" "+other.Target)
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
func (l *Log) told(err error) error {
	if err == nil {
		l.tell()
	}
	return err
}

// pauseAt returns where a pause is among those that are stored, or -1.
func (r *registry) pauseAt(p engine.Pause) int {
	return view.PauseAt(r.Pauses, p)
}

// Pauses implements [engine.Pauser].
func (l *Log) Pauses(ctx context.Context) ([]engine.Pause, error) {
	if err := l.sync(ctx); err != nil {
		return nil, err
	}
	if err := l.enter(); err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	return l.pausesHere(), nil
}

// WatchPauses implements [engine.Pauser].
func (l *Log) WatchPauses(ctx context.Context, f func([]engine.Pause)) error {
	pauses, err := l.Pauses(ctx)
	if err != nil {
		return err
	}
	l.telling.Lock()
	defer l.telling.Unlock()
	l.watchers, l.paused = append(l.watchers, f), pauses
	f(pauses)
	return nil
}

// WatchRequests implements [engine.Reporter].
func (l *Log) WatchRequests(f func([]engine.BreakerRequest)) {
	l.telling.Lock()
	l.asked = f
	l.telling.Unlock()
	l.mu.Lock()
	l.requestsNew = true
	l.mu.Unlock()
	l.tell()
}

// tell calls the watchers of what has changed.
func (l *Log) tell() {
	l.telling.Lock()
	defer l.telling.Unlock()
	l.mu.Lock()
	pauses, requests := l.pausesHere(), slices.Clone(l.requests)
	asked := l.requestsNew
	l.pausesNew, l.requestsNew = false, false
	l.mu.Unlock()
	if !slices.Equal(pauses, l.paused) {
		l.paused = pauses
		for _, f := range l.watchers {
			f(pauses)
		}
	}
	if asked && l.asked != nil && len(requests) > 0 {
		l.asked(requests)
	}
}

// pausesHere returns what is paused under the names of this process. The caller holds mu.
func (l *Log) pausesHere() []engine.Pause {
	return view.PausesHere(l.registry.Pauses, l.registry.Types, l.here, func(name string) string {
		if s := l.registry.known(name); s != nil {
			return l.nameHere(s.ID, s.Name)
		}
		return name
	})
}

// typePaused reports whether a type is paused, under any of its names. The caller holds mu.
func (l *Log) typePaused(written string) bool {
	return view.TypePaused(l.registry.Pauses, l.registry.namesOf, written)
}
