package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/dispatch/errs"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// A handler can wait for an event in a step. The first call looks for it; if it is not there, the step is stored with the
// time when the wait ends, and the attempt is suspended until then, or until the writer stores such an event. What becomes
// of the wait takes the place of that step: the event, or that none came.

// lookAgain is how long a handler whose time is over waits, while the keys of stored events are being written.
const lookAgain = time.Second

// AwaitEvent waits in a step for the first of these events which no step of the handler has got before. It returns nil if none
// has come in time, now and in every later attempt, and ErrSuspended while there is none. A problem makes the delivery a dead
// letter. skip is that of BeginStep.
func (a *Attempt) AwaitEvent(ctx context.Context, name string, was []string, within time.Duration, of []engine.Awaited, problem error, skip int) (*engine.Record, error) {
	stored, err := a.BeginStep(ctx, name, was, skip)
	if err != nil {
		return nil, err
	}
	if stored == nil {
		a.EndStep(name, false) // it runs no function
	}
	if problem != nil {
		return nil, a.Doom(event.ReasonPermanent, fmt.Errorf("step %q: %w", name, problem))
	}
	s := a.stepsOf()
	s.awaiting.Lock() // so that two steps of one handler do not get the same event
	defer s.awaiting.Unlock()
	wait := engine.Step{Member: a.member(), Name: name, Kind: engine.StepAwait}
	var until time.Time
	if stored != nil {
		wait = *stored
		switch stored.Kind {
		case engine.StepEvent:
			return a.awaited(ctx, stored)
		case engine.StepNone:
			return nil, nil
		case engine.StepAwait:
			if err := json.Unmarshal(stored.Result, &until); err != nil {
				return nil, a.Doom(event.ReasonDecode, fmt.Errorf("step %q: the time when its wait ends cannot be read: %w", name, err))
			}
		default:
			return nil, a.Doom(event.ReasonDecode, fmt.Errorf("step %q was stored as a step of kind %s, and the program waits for an event in it: "+
				"give it another name", name, stored.Kind))
		}
	}
	found, err := a.handler.Steps.Keeper.First(ctx, of, a.gotBefore(s))
	switch {
	case err != nil:
		return nil, a.unread(fmt.Sprintf("step %q could not look for its event", name), err)
	case found != nil:
		wait.Kind, wait.Event, wait.Result, wait.Shape = engine.StepEvent, found.Seq, nil, found.Type
		return found, a.storeAwait(ctx, wait)
	}
	now := time.Now()
	if stored == nil {
		until = WaitEnd(now.Add(within))
		if wait.Result, err = json.Marshal(until); err != nil { // a year of more than four digits
			return nil, a.Doom(event.ReasonPermanent, fmt.Errorf("step %q: the time when its wait ends cannot be stored: %w", name, err))
		}
		if err := a.storeAwait(ctx, wait); err != nil {
			return nil, err
		}
	}
	if !now.Before(until) {
		none := wait
		none.Kind, none.Result = engine.StepNone, nil
		if err := a.storeAwait(ctx, none, of...); !errors.Is(err, engine.ErrAwaited) {
			return nil, err
		}
		until = now.Add(lookAgain)
	}
	return nil, a.Suspend(until, engine.Await{Member: wait.Member, Name: wait.Name, Of: of})
}

// storeAwait stores a step that waits for an event, or what has become of the wait, and tells observers.
func (a *Attempt) storeAwait(ctx context.Context, step engine.Step, unless ...engine.Awaited) error {
	err := a.StoreStep(step, unless...)
	if !errors.Is(err, engine.ErrAwaited) {
		_, ended := a.WatchStep(ctx, step.Name, engine.StepAwait)
		ended(err)
	}
	return err
}

// awaited returns the event that a stored step has got.
func (a *Attempt) awaited(ctx context.Context, step *engine.Step) (*engine.Record, error) {
	got, err := a.handler.Steps.Keeper.Event(ctx, step.Event)
	switch {
	case err != nil:
		return nil, a.unread(fmt.Sprintf("the event of step %q could not be read", step.Name), err)
	case got == nil:
		return nil, a.Doom(event.ReasonDecode, fmt.Errorf("step %q: the event that it has waited for, a %s, is not in the log any more", step.Name, step.Shape))
	}
	return got, nil
}

// unread is the error of something that the engine could not read. If that is because of the storage, it does not count as
// an attempt.
func (a *Attempt) unread(what string, err error) error {
	if errors.Is(err, engine.ErrMoved) || errors.Is(err, engine.ErrClosed) || errors.As(err, new(*event.StorageError)) {
		return &errs.UncommittedError{What: what, Err: err}
	}
	return fmt.Errorf("%s: %w", what, err)
}

// gotBefore returns the places of the events that steps of the handler have got in this run.
func (a *Attempt) gotBefore(s *steps) (places []int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, member := range a.members() {
		for at, step := range s.stored {
			if at.member == member && step.Kind == engine.StepEvent {
				places = append(places, step.Event)
			}
		}
	}
	return places
}

// member is whose steps those of the handler are.
func (a *Attempt) member() string { return a.members()[0] }

// members are the names under which steps of the handler may be stored: in a group the member may have had another name.
func (a *Attempt) members() []string {
	if !a.run.site.cfg.Group {
		return []string{""}
	}
	return append([]string{a.handler.Name}, a.handler.Aliases...)
}
