package admin

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/busgen/busgen/internal/glob"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite"
)

// PauseSubscription stops the deliveries to a subscription until
// [File.ResumeSubscription]. Handlers that run are not interrupted; its events
// wait where they are, and retries that come due wait as well. Pausing what is
// paused changes nothing. A name that the file does not know is a
// *[NotFoundError].
func (f *File) PauseSubscription(ctx context.Context, name string, opts ...PauseOption) error {
	return f.use(func(a *sqlite.Admin) error {
		if err := known(ctx, a, name); err != nil {
			return err
		}
		_, err := a.Pause(ctx, pauseOf(engine.PauseSubscription, name, opts), f.actor)
		return err
	})
}

// PauseOption tunes a pause.
type PauseOption func(*engine.Pause)

// Because says in a few words why something is paused, for everybody who finds
// it paused.
func Because(reason string) PauseOption { return func(p *engine.Pause) { p.Reason = reason } }

func pauseOf(kind engine.PauseKind, target string, opts []PauseOption) engine.Pause {
	p := engine.Pause{Kind: kind, Target: target}
	for _, opt := range opts {
		opt(&p)
	}
	return p
}

// ResumeSubscription ends the pause of a subscription. Without one the error is
// a *[NotFoundError].
func (f *File) ResumeSubscription(ctx context.Context, name string) error {
	return f.resume(ctx, engine.Pause{Kind: engine.PauseSubscription, Target: name})
}

// PauseTypes stops the deliveries of the events that a glob matches, to all
// subscriptions, until [File.ResumeTypes] with the same glob. Events of other
// types overtake them. A type may be covered by several pauses, and is held
// until the last one has ended. Pausing what is paused changes nothing.
func (f *File) PauseTypes(ctx context.Context, types string, opts ...PauseOption) error {
	if _, err := glob.Parse(types); err != nil {
		return fmt.Errorf("pause event types: %w", err)
	}
	return f.use(func(a *sqlite.Admin) error {
		_, err := a.Pause(ctx, pauseOf(engine.PauseType, types, opts), f.actor)
		return err
	})
}

// ResumeTypes ends a pause of types, given by the glob it was made with, and
// makes what it held due now. Without such a pause the error is a
// *[NotFoundError].
func (f *File) ResumeTypes(ctx context.Context, types string) error {
	return f.resume(ctx, engine.Pause{Kind: engine.PauseType, Target: types})
}

func (f *File) resume(ctx context.Context, p engine.Pause) error {
	return f.use(func(a *sqlite.Admin) error {
		resumed, err := a.Resume(ctx, p, f.actor)
		if err != nil || resumed {
			return err
		}
		pauses, err := a.Pauses(ctx)
		if err != nil {
			return err
		}
		missing := &NotFoundError{Thing: "pause of " + string(p.Kind), Name: p.Target}
		for _, other := range pauses {
			missing.Known = append(missing.Known, strings.TrimSpace(string(other.Kind)+" "+other.Target))
		}
		return missing
	})
}

// Removed counts what a subscription has left behind.
type Removed struct {
	Open int `json:"open"` // events it had yet to settle
	Dead int `json:"dead"` // dead letters
}

// Remove makes the file forget a subscription, with its open events, its dead
// letters, the record of its failures and its pause. The events themselves
// stay. It is one transaction, for which publishers wait: up to a second for a
// hundred thousand dead letters.
//
// A name that the catalogue declares, or that a program subscribes, is there
// again at the next start, and begins at the end of the log: take it out of
// both first. So that no handler is at work for it, nobody may dispatch from the
// file: otherwise the error is a *runtime.OwnedError that says who does. A name
// that the file does not know is a *[NotFoundError].
func (f *File) Remove(ctx context.Context, name string) (removed Removed, err error) {
	err = f.use(func(a *sqlite.Admin) error {
		if err := known(ctx, a, name); err != nil {
			return err
		}
		counts, _, err := a.Remove(ctx, name, f.actor)
		removed = Removed(counts)
		return err
	})
	return removed, err
}

// known returns a *NotFoundError for a subscription that the file does not have.
func known(ctx context.Context, a *sqlite.Admin, name string) error {
	names, err := a.Names(ctx)
	if err == nil && !slices.Contains(names, name) {
		err = &NotFoundError{Thing: "subscription", Name: name, Known: names}
	}
	return err
}
