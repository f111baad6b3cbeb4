package memory

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/memview"
)

// Pause implements [engine.Pauser].
func (l *Log) Pause(_ context.Context, p engine.Pause) error {
	err := l.changePauses(func() error {
		if p.Kind == engine.PauseSubscription {
			sub := l.known(p.Target)
			if sub == nil {
				return fmt.Errorf("subscription %q: %w", p.Target, engine.ErrUnknownConsumer)
			}
			p.Target = sub.name
		}
		if p.Since = time.Now().UTC(); l.pauseAt(p) < 0 {
			l.pauses = append(l.pauses, p)
		}
		return nil
	})
	return err
}

// Resume implements [engine.Pauser].
func (l *Log) Resume(_ context.Context, p engine.Pause) (found bool, err error) {
	err = l.changePauses(func() error {
		if sub := l.known(p.Target); p.Kind == engine.PauseSubscription && sub != nil {
			p.Target = sub.name
		}
		at := l.pauseAt(p)
		if found = at >= 0; found {
			l.pauses = slices.Delete(l.pauses, at, at+1)
			l.releaseHeld()
		}
		return nil
	})
	return found, err
}

// changePauses calls change with the store locked, and then tells the watchers.
func (l *Log) changePauses(change func() error) error {
	l.telling.Lock()
	defer l.telling.Unlock()
	if err := l.enter(); err != nil {
		return err
	}
	err := change()
	paused := map[*Log][]engine.Pause{}
	for _, other := range l.logs {
		paused[other] = other.pausesHere()
	}
	l.mu.Unlock()
	for other, pauses := range paused {
		if slices.Equal(pauses, other.paused) {
			continue
		}
		other.paused = pauses
		for _, f := range other.watchers {
			f(pauses)
		}
	}
	return err
}

// pauseAt returns where a pause is among those that are stored, or -1.
func (s *store) pauseAt(p engine.Pause) int {
	return memview.PauseAt(s.pauses, p)
}

// Pauses implements [engine.Pauser].
func (l *Log) Pauses(context.Context) ([]engine.Pause, error) {
	if err := l.enter(); err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	return l.pausesHere(), nil
}

// WatchPauses implements [engine.Pauser].
func (l *Log) WatchPauses(ctx context.Context, f func([]engine.Pause)) error {
	l.telling.Lock()
	defer l.telling.Unlock()
	pauses, err := l.Pauses(ctx)
	if err != nil {
		return err
	}
	l.watchers, l.paused = append(l.watchers, f), pauses
	f(pauses)
	return nil
}

// pausesHere returns what is paused under the names of this process.
func (l *Log) pausesHere() []engine.Pause {
	return memview.PausesHere(l.pauses, l.types, l.here, func(name string) string {
		if sub := l.known(name); sub != nil {
			return l.nameHere(sub)
		}
		return name
	})
}

// typePaused reports whether a type is paused, under any of its names.
func (s *store) typePaused(written string) bool {
	return memview.TypePaused(s.pauses, s.namesOf, written)
}

// releaseHeld makes the held deliveries due whose types are not paused.
func (s *store) releaseHeld() {
	for _, sub := range s.subscriptions {
		for _, d := range sub.deliveries {
			if !s.typePaused(d.Type) {
				d.Row = d.Row.Resume()
			}
		}
	}
	s.wake()
}
