package runtime

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/busgen/busgen/internal/glob"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// PauseSubscription stops delivering to a subscription, or to a group by its
// name, in whichever process dispatches, until [Bus.ResumeSubscription]. The file keeps
// the pause. Running handlers are not interrupted, and nothing counts as an attempt: the
// events wait. Operators see the reason, which may be empty, and this process as the actor: with
// [github.com/busgen/busgen/runtime/inspect.WithActor] a person is. A second pause changes nothing. The error matches
// [event.ErrUnknownSubscription] if the file has no subscription of that name.
func (b *Bus) PauseSubscription(ctx context.Context, name, reason string) error {
	return busOf(b).pauseSubscription(ctx, name, reason)
}

func (b *innerBus) pauseSubscription(ctx context.Context, name, reason string) error {
	defer b.keep()
	return public(b.log.Pause(ctx, engine.Pause{Kind: engine.PauseSubscription, Target: name, Actor: thisProcess(), Reason: reason}))
}

// thisProcess returns the actor of pauses that the program makes.
func thisProcess() string { return fmt.Sprintf("process %d", os.Getpid()) }

// PauseKey is [Bus.PauseSubscription] for the deliveries that have a key: by their partition key, or by the field of
// one of their limits or of their circuit breaker. They are parked, and others overtake them. A subscription of the program
// without any key is refused.
func (b *Bus) PauseKey(ctx context.Context, name, key, reason string) error {
	return busOf(b).pauseKey(ctx, name, key, reason)
}

func (b *innerBus) pauseKey(ctx context.Context, name, key, reason string) error {
	defer b.keep()
	if key == "" {
		return fmt.Errorf("pause a key of subscription %q: the key is empty", name)
	}
	b.mu.Lock()
	f := b.feedNamed(name)
	b.mu.Unlock()
	if f != nil && !f.hasKeys() {
		return fmt.Errorf("subscription %q has no keys: give its events a partition_by, or it a limit or a breaker by a field", name)
	}
	return public(b.log.Pause(ctx, engine.Pause{Kind: engine.PauseSubscription, Target: name, Key: key, Actor: thisProcess(), Reason: reason}))
}

// ResumeKey undoes [Bus.PauseKey]. It returns nil for a key that is not paused.
func (b *Bus) ResumeKey(ctx context.Context, name, key string) error {
	return busOf(b).unpause(ctx, engine.Pause{Kind: engine.PauseSubscription, Target: name, Key: key})
}

// hasKeys tells whether deliveries of the feed can have keys.
func (f *feed) hasKeys() bool {
	for _, m := range *f.members.Load() {
		for eventType, settings := range m.inForce.Load().types {
			if t := f.bus.catalogue.Lookup(eventType); t != nil && typeOf(t).partitioned() || settings.Breaker.By != "" ||
				slices.ContainsFunc(settings.Limits, func(u declare.LimitUse) bool { return u.By != "" }) {
				return true
			}
		}
	}
	return false
}

// ResumeSubscription undoes [Bus.PauseSubscription]. It returns nil for a
// subscription that is not paused.
func (b *Bus) ResumeSubscription(ctx context.Context, name string) error {
	return busOf(b).resumeSubscription(ctx, name)
}

func (b *innerBus) resumeSubscription(ctx context.Context, name string) error {
	return b.unpause(ctx, engine.Pause{Kind: engine.PauseSubscription, Target: name})
}

// unpause undoes a pause, if there is one.
func (b *innerBus) unpause(ctx context.Context, p engine.Pause) error {
	defer b.keep()
	err := b.log.Resume(ctx, p)
	if _, missing := errors.AsType[*event.NotFoundError](err); missing {
		return nil
	}
	return public(err)
}

// PauseTypes stops delivering the event types that match a pattern, such as
// order.*, to any subscription, until [Bus.ResumeTypes] with the same pattern.
// The other events of a subscription go on. A type is paused, too, if the pattern
// matches a name that it had before, or has in another program. A pattern that is not
// valid is an error. The reason is for operators, and may be empty.
func (b *Bus) PauseTypes(ctx context.Context, pattern, reason string) error {
	return busOf(b).pauseTypes(ctx, pattern, reason)
}

func (b *innerBus) pauseTypes(ctx context.Context, pattern, reason string) error {
	defer b.keep()
	if _, err := glob.Parse(pattern); err != nil {
		return fmt.Errorf("pause event types: %w", err)
	}
	return public(b.log.Pause(ctx, engine.Pause{Kind: engine.PauseType, Target: pattern, Actor: thisProcess(), Reason: reason}))
}

// ResumeTypes undoes [Bus.PauseTypes]. It returns nil for a pattern that is not
// paused.
func (b *Bus) ResumeTypes(ctx context.Context, pattern string) error {
	return busOf(b).resumeTypes(ctx, pattern)
}

func (b *innerBus) resumeTypes(ctx context.Context, pattern string) error {
	return b.unpause(ctx, engine.Pause{Kind: engine.PauseType, Target: pattern})
}

// Pauses returns the pauses in force, the oldest first. It reads the file. The error is a
// *[event.StorageError], or [ErrShutdown].
func (b *Bus) Pauses(ctx context.Context) ([]event.Pause, error) { return busOf(b).pauses(ctx) }

func (b *innerBus) pauses(ctx context.Context) ([]event.Pause, error) {
	defer b.keep()
	stored, err := b.log.Pauses(ctx)
	pauses := make([]event.Pause, len(stored))
	for i, p := range stored {
		pauses[i] = publicPause(p)
	}
	return pauses, public(err)
}

func publicPause(p engine.Pause) event.Pause {
	if p.Kind == engine.PauseType {
		return event.Pause{Types: p.Target, Since: p.Since, Actor: p.Actor, Reason: p.Reason}
	}
	return event.Pause{Subscription: p.Target, Key: p.Key, Since: p.Since, Actor: p.Actor, Reason: p.Reason}
}

// pausing tells the running feeds which pauses are in force. Its lock is never held
// during a call of the log.
type pausing struct {
	mu      sync.Mutex
	paused  []engine.Pause
	running []*feed
}

// set is called by the log with what is paused now.
func (p *pausing) set(paused []engine.Pause) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.paused = paused
	for _, f := range p.running {
		p.tell(f)
	}
}

// watch tells a feed what is paused now, and whenever that changes.
func (p *pausing) watch(f *feed) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running = append(p.running, f)
	p.tell(f)
}

func (p *pausing) forget(f *feed) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running = slices.DeleteFunc(p.running, func(other *feed) bool { return other == f })
}

func (p *pausing) tell(f *feed) {
	all := false
	var types []glob.Pattern
	var keys []string
	besides := map[string]bool{} // by another name
	for _, one := range p.paused {
		if one.Kind == engine.PauseSubscription {
			if one.Target == f.name && one.Key != "" {
				keys = append(keys, one.Key)
			}
			all = all || one.Target == f.name && one.Key == ""
		} else if pattern, err := glob.Parse(one.Target); err == nil {
			types = append(types, pattern)
			for also := range strings.FieldsSeq(one.Besides) {
				besides[also] = true
			}
		}
	}
	if len(types) == 0 {
		f.paused.Store(all)
		f.scheduler.SetPaused(all, nil, keys)
		return
	}
	held := func(eventType string) bool {
		return besides[eventType] || slices.ContainsFunc(types, func(p glob.Pattern) bool { return p.Match(eventType) })
	}
	// If nothing is left to deliver, the events may as well wait in the log.
	all = all || !slices.ContainsFunc(f.types(), func(eventType string) bool { return !held(eventType) })
	f.paused.Store(all)
	f.scheduler.SetPaused(all, held, keys)
}
