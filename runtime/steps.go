package runtime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/busgen/busgen/runtime/internal/dispatch"
	"github.com/busgen/busgen/runtime/internal/dispatch/errs"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// Package step is what programs call to do the work of a handler in steps. Here is what it needs of a bus.

// noStepKeeper is why an engine has no steps.
const noStepKeeper = "the engine of this bus stores no steps: they need the file of the default engine"

// The limits of steps, unless an option says otherwise.
const (
	defaultMaxSteps  = 1000
	defaultStepLimit = 256 << 10
)

// steps says how the handler of the subscription may store steps.
func (s *innerSubscription) steps() *dispatch.Steps {
	steps := &dispatch.Steps{Max: cmp.Or(s.config.maxSteps, defaultMaxSteps), Limit: cmp.Or(s.config.stepLimit, defaultStepLimit), Undo: s.config.undoOnDeath}
	keeper, keeps := s.bus.log.(engine.StepKeeper)
	switch {
	case s.transacts:
		steps.No = "all that a handler of SubscribeTx does is one transaction: use step.Tx in a handler of Subscribe"
	case s.answers != nil:
		steps.No = "a handler that answers is waited for, and its answer is in no file: publish an event, and let its handler do the steps"
	case s.config.ephemeral:
		steps.No = "an ephemeral subscription stores nothing: subscribe with a name"
	case !keeps:
		steps.No = noStepKeeper
	}
	steps.Keeper = keeper
	if point := s.bus.config.stepPoint; point != nil {
		steps.Point = func(name string, stored bool) { point(s.name, name, stored) }
	}
	return steps
}

// Awaited returns what a step of the attempt waits for: events of these types with these keys, behind the handled one.
func (forGenerated) Awaited(a *dispatch.Attempt, types []Definition, keys []string) ([]engine.Awaited, error) {
	b := a.Owner().(*innerBus)
	all := make([]engine.Awaited, len(types))
	for i, one := range types {
		t := typeOf(one)
		switch {
		case b.catalogue.Lookup(t.Name()) == nil:
			return nil, &UnknownTypeError{t.Name()}
		case len(t.spec.AwaitBy) == 0:
			return nil, fmt.Errorf("events of type %s have no key to wait by: add await_by to the type in the catalogue", t.Name())
		case keys[i] == "":
			return nil, fmt.Errorf("it waits for an event of type %s with an empty key, which no event has", t.Name())
		}
		all[i] = engine.Awaited{Type: t.Name(), Key: keys[i], After: a.Seq}
	}
	if len(all) == 0 {
		return nil, errors.New("it waits for no event: name one with step.Of")
	}
	return all, nil
}

// Got returns the head of an event that a step has waited for, and a pointer to its payload. The event is of one of these
// types.
func (forGenerated) Got(types []Definition, r *engine.Record) (Head, any, error) {
	var names []string
	for _, one := range types {
		t := typeOf(one)
		if names = append(names, t.Name()); t.Name() == r.Type || slices.Contains(t.Aliases(), r.Type) {
			e, err := t.stored(r)
			return e.head, e.payload, err
		}
	}
	return Head{}, nil, fmt.Errorf("it has got an event of type %s, and the program waits for one of type %s: give the step another name",
		r.Type, strings.Join(names, " or "))
}

// StepTx runs f, which does a step by calling user and fills it in, in a transaction that stores the step too.
func (forGenerated) StepTx(ctx context.Context, a *dispatch.Attempt, step engine.Step, user any, f func(tx Tx, step *engine.Step) error) error {
	b := a.Owner().(*innerBus)
	defer b.keep()
	stepping, err := a.Stepping(step)
	if err != nil {
		return err
	}
	ended := false
	defer func() {
		if !ended { // it panics, or ends its goroutine
			a.StepStored(stepping, errs.ErrOver)
		}
	}()
	err = b.transact(ctx, a, nil, stepping, func(run *txRun) error {
		run.runs(user)
		err := f(Tx{run}, &stepping.Step)
		stepping.Step.At = a.StepTime()
		return err
	})
	ended = true
	return a.StepStored(stepping, err)
}
