package dispatch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/dispatch/errs"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// A handler that gives up has its steps undone, the newest first. The disposition Undo says so, and from then on the
// delivery is Undoing until its next run. Each attempt at it calls the handler once: stored steps return their results and
// name what undoes them, and no other step does anything. Then what they have named is called. Each of that is a step, too, so
// it is done once, and is tried again as any attempt is. In the end the delivery is dead.

// undo is what undoes a step of the handler.
type undo struct {
	of   *engine.Step
	call func(ctx context.Context, name string) error // stores the step of this name
	ctx  context.Context                              // whose values it gets
}

// noSteps says why the handler has no steps; empty if it has.
func (h *Handler) noSteps() string {
	switch {
	case h.HandleBatch != nil:
		return "the events of a batch have no steps of their own; subscribe without a batch"
	case h.Steps == nil:
		return "there are no steps here"
	}
	return h.Steps.No
}

// rollback has the steps of a delivery undone that would be dead. It reports false if none has to be. The caller holds mu.
func (a *Attempt) rollback(reason string, failure *event.FailedAttempt, last event.FailedAttempt) bool {
	cfg := &a.run.site.cfg
	wanted := func(h *Handler) bool { return h.Steps != nil && h.Steps.Undo }
	if a.Undoing || a.handler.noSteps() != "" || reason != event.ReasonUndone && !slices.ContainsFunc(cfg.Handlers(a.Type), wanted) {
		return false
	}
	s := a.stepsOf()
	if a.loadSteps(s, a.handler.Steps) == nil && !s.undoable() { // of steps that cannot be read some may be undoable
		return false
	}
	if last.Stack, last.Log = "", ""; last.Ended.IsZero() {
		last.Ended = time.Now()
	}
	result, err := json.Marshal(engine.Ending{Reason: reason, Last: last})
	if err != nil { // texts and times cannot fail
		return false
	}
	cfg.Logger.Warn("a delivery is given up, and its steps are undone", a.logged("reason", reason, "error", last.Error)...)
	a.settle(a.run.disposition(engine.Disposition{Kind: engine.Undo, Attempt: failure, Step: &engine.Step{
		Name: engine.UndoPrefix, Kind: engine.StepUndo, Result: result, Attempt: a.Number, Started: a.started, At: a.StepTime(),
	}}))
	return true
}

// undoable reports whether a step of the run, of whichever member of a group, has a function that undoes it.
func (s *steps) undoable() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, step := range s.stored {
		if step.Undoes {
			return true
		}
	}
	return false
}

// undo takes a delivery through its handlers, so that what their steps have done is undone.
func (s *site) undo(w *worker, r *run, handlers []*Handler) (keep bool) {
	permit := r.initial.permit
	for _, h := range handlers {
		if s.cfg.Group {
			if permit = (breaker.Permit{}); h.isAmong(decodeProgress(r.Progress)) {
				continue
			}
		}
		if s.stopped.Load() {
			v := r.release()
			s.settler.settle(&r.Item, &v)
			return true
		}
		if handled, keep := s.attempt(w, r, h, permit); !handled || !keep {
			return keep
		}
	}
	last := event.FailedAttempt{Kind: event.KindError, Error: "its steps are undone"}
	if end := r.ending; end != nil {
		last = end.Last
		if end.Reason != event.ReasonUndone {
			last.Error = fmt.Sprintf("undone after %s: %s", end.Reason, last.Error)
		}
	}
	last.Started, last.Ended = r.initial.started, time.Now()
	s.giveUp(w.number, r, handlers[0], breaker.Permit{}, event.ReasonUndone, &last)
	return true
}

// undo calls the handler, so that it names what undoes its steps, and then that. It is called instead of the handler.
func (a *Attempt) undo() error {
	s := a.stepsOf()
	if err := a.loadSteps(s, a.handler.Steps); err != nil {
		return &errs.UncommittedError{What: "the steps that are to be undone could not be read", Err: err}
	}
	if !a.findLeft(s) {
		return nil
	}
	err := a.handler.Handle(a)
	if a.doomed() != nil {
		return nil // which says it all
	}
	undos, err := s.inOrder(err)
	if err != nil {
		return err
	}
	for _, one := range undos {
		if err := a.callUndo(s, one); err != nil {
			return err
		}
	}
	return nil
}

// findLeft finds the steps of the handler that are to be undone, and why. It reports whether there are some.
func (a *Attempt) findLeft(s *steps) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, step := range s.stored {
		if step.Undoes && (!a.run.site.cfg.Group || a.handler.isAmong([]string{step.Member})) && a.findStep(s, engine.UndoPrefix+step.Name, nil) == nil {
			s.left = append(s.left, step)
		}
	}
	var end engine.Ending
	if why := s.stored[stepName{"", engine.UndoPrefix}]; why != nil && json.Unmarshal(why.Result, &end) == nil { // else it was erased
		a.run.ending = &end
	}
	return len(s.left) > 0
}

// errNotDone says that the step of a delivery whose steps are undone was not done, and is not done now.
var errNotDone = fmt.Errorf("the steps of this event are undone, and this one was not done: %w", ErrSuspended)

// noNewStep is what a step returns that is not over while the others are undone. From then on the attempt is as one that
// is suspended, but that stored steps name what undoes them. The caller holds the mu of the steps.
func (s *steps) noNewStep(name string) error {
	if s.undoing {
		return fmt.Errorf("step %q: %w in a function that undoes a step: it is a step itself", name, errors.ErrUnsupported)
	}
	s.stopped = cmp.Or(s.stopped, name)
	return errNotDone
}

// stageUndoing is Stage while steps are undone: what the handler publishes to name them is dropped. The caller holds mu.
func (a *Attempt) stageUndoing(records int) error {
	s := a.stepsOf()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.undoing && records > 0:
		return errors.New("a function that undoes a step publishes with the transaction of step.TxUndo, or runtime.Immediately: " +
			"what is published with its context would wait until all steps are undone")
	case s.stopped != "" && !s.undoing:
		return ErrSuspended
	}
	return nil
}

// NameUndo keeps what undoes a stored step, if the steps of the delivery are undone. call is given the name of the step that
// it has to store. It is called when the handler has returned, with the values of ctx. When all are named there is no more for
// the handler to do, and the error says so.
func (a *Attempt) NameUndo(ctx context.Context, of *engine.Step, call func(ctx context.Context, name string) error) error {
	if !a.Undoing {
		return nil
	}
	s := a.stepsOf()
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Contains(s.left, of) {
		s.undos = append(s.undos, undo{of, call, ctx})
	}
	if len(s.undos) < len(s.left) {
		return nil
	}
	return s.noNewStep(of.Name)
}

// inOrder returns what the handler has named, the newest step first. returned is what the handler has returned.
func (s *steps) inOrder(returned error) ([]undo, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, step := range s.left {
		if slices.ContainsFunc(s.undos, func(u undo) bool { return u.of == step }) {
			continue
		}
		if returned != nil && !errs.Steers(returned) && !errs.Matches(func(err error) bool { return errors.Is(err, ErrSuspended) }, returned) {
			return nil, fmt.Errorf("step %q is not undone, because the handler has failed before it: %w", step.Name, returned)
		}
		stopped := ""
		if s.stopped != "" {
			stopped = fmt.Sprintf(", and has stopped at %q, which was not done", s.stopped)
		}
		return nil, &errs.StepError{Reason: event.ReasonUndo, Err: fmt.Errorf("step %q cannot be undone: the handler of this program does not come to it%s, or has no function that undoes it: "+
			"let it call step.DoUndo or step.TxUndo of that name behind no step that is new, and retry the dead letter", step.Name, stopped)}
	}
	slices.SortFunc(s.undos, func(a, b undo) int { return b.of.At.Compare(a.of.At) })
	s.undoing = true
	return s.undos, nil
}

// callUndo undoes a step.
func (a *Attempt) callUndo(s *steps, one undo) error {
	name := engine.UndoPrefix + one.of.Name
	if err := a.Stage(a.Given(), nil); err != nil { // the attempt is over
		return err
	}
	s.mu.Lock()
	s.running = append(s.running, name)
	s.mu.Unlock()
	ctx, ended := a.WatchStep(undoContext{a.Given(), one.ctx}, name, engine.StepUndo)
	var err error
	defer func() { ended(err) }() // also if it panics
	err = one.call(ctx, name)
	a.EndStep(name, err != nil)
	if err != nil {
		return fmt.Errorf("step %q: %w", name, err)
	}
	return nil
}

// undoContext is the context of the attempt, with the values that a step was given: the handler has returned, and what it has
// made of its context may be over.
type undoContext struct {
	context.Context
	values context.Context
}

// Value implements [context.Context].
func (c undoContext) Value(key any) any { return c.values.Value(key) }

// undone is success of an attempt whose steps are undone: the next member of the group has its turn. The caller holds mu.
func (a *Attempt) undone() {
	a.withdraw() // it says nothing about the handler
	a.handled = true
	if x := a.extra.Load(); a.handler.Observed || x != nil && x.reports != nil {
		a.owes = owesNext
	}
}

// cannotUndo is why the steps of a delivery cannot be undone by these handlers; nil if they can, or need not be.
func (r *run) cannotUndo(h *Handler) *event.FailedAttempt {
	no := h.noSteps()
	if !r.Undoing || no == "" {
		return nil
	}
	now := time.Now()
	return &event.FailedAttempt{Kind: event.KindError, Started: now, Ended: now, Error: "its steps cannot be undone: " + no}
}
