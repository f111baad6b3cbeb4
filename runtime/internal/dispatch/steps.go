package dispatch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/dispatch/errs"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// A handler can do its work in steps, which the engine stores: the next attempt finds what is done. Package step is what
// programs call; here is what an attempt knows of its steps. Most attempts have none, and then nothing of this exists.

// ErrSuspended is returned to a handler that waits in a step, by that step and by all that follow. Such an attempt ends as
// suspended, whatever the handler returns.
var ErrSuspended = errors.New("the handler waits in a step: return this error, and it is called again when the wait is over")

// Steps says how the handler of an attempt may store steps.
type Steps struct {
	Keeper engine.StepKeeper
	Max    int    // how many steps a run may have
	Limit  int    // how many bytes a result may have
	No     string // why there are no steps here; empty if there are
	Undo   bool   // what the steps of a delivery have done is undone before it is a dead letter

	// Point is called before each step is stored, and after it; nil outside of tests.
	Point func(name string, stored bool)
}

// resultsOfRun is how many results of the largest size a run may have in all.
const resultsOfRun = 16

// steps is what an attempt knows of its steps.
type steps struct {
	loading  sync.Mutex // held while the stored ones are read
	awaiting sync.Mutex // held while one looks for its event

	mu      sync.Mutex // taken after that of the attempt; guards what follows
	loaded  bool
	stored  map[stepName]*engine.Step
	bytes   int                // of their results
	newest  time.Time          // when the newest of them was stored
	used    map[string]uintptr // where the names of this attempt are used
	running []string           // names of steps whose functions run, or have not returned
	doom    error              // a StepError that ends the delivery; nil for none
	left    []*engine.Step     // that are to be undone; see undo.go
	undos   []undo             // what the handler has named for that
	undoing bool               // they are called
	stopped string             // the first step that the handler has come to and that was not done, while the others are undone

	// These are guarded by the mu of the attempt.
	storing   int // steps that are being stored: no deadline ends the attempt meanwhile
	progress  bool
	suspended bool
	until     time.Time
	awaits    []engine.Await // which events end the suspension, too
}

// stepName is how a step is known.
type stepName struct{ member, name string }

// stepsOf returns the steps of the attempt, made if need be.
func (a *Attempt) stepsOf() *steps {
	x := a.extras()
	if s := x.steps.Load(); s != nil {
		return s
	}
	x.steps.CompareAndSwap(nil, &steps{used: map[string]uintptr{}})
	return x.steps.Load()
}

// itsSteps returns the steps of the attempt; nil if its handler has asked for none.
func (a *Attempt) itsSteps() *steps {
	if x := a.extra.Load(); x != nil {
		return x.steps.Load()
	}
	return nil
}

// BeginStep looks for a step of the handler, which was called was before. It returns what is stored; nil says that the
// step has not been done, and begins: EndStep follows. skip is how many callers are between the handler and this.
func (a *Attempt) BeginStep(ctx context.Context, name string, was []string, skip int) (*engine.Step, error) {
	rules := a.handler.Steps
	switch {
	case a.batch != nil:
		return nil, fmt.Errorf("step %q: %w: the events of a batch have no steps of their own; subscribe without a batch", name, errors.ErrUnsupported)
	case rules == nil:
		return nil, fmt.Errorf("step %q: %w here", name, errors.ErrUnsupported)
	case rules.No != "":
		return nil, fmt.Errorf("step %q: %w: %s", name, errors.ErrUnsupported, rules.No)
	}
	s := a.stepsOf()
	if err := s.doomed(); err != nil {
		return nil, err
	}
	if err := a.Stage(ctx, nil); err != nil && !(a.Undoing && err == ErrSuspended) { // nothing of the attempt is to be done any more
		return nil, err
	}
	if problem := nameProblem(name); problem != "" {
		return nil, a.Doom(event.ReasonPermanent, &errs.NameError{Name: name, Problem: problem})
	}
	if err := a.loadSteps(s, rules); err != nil {
		return nil, &errs.UncommittedError{What: fmt.Sprintf("the steps before %q could not be read", name), Err: err}
	}
	var callers [1]uintptr
	goruntime.Callers(skip+2, callers[:])

	s.mu.Lock()
	defer s.mu.Unlock()
	if first, used := s.used[name]; used {
		return nil, s.end(event.ReasonPermanent, &errs.NameError{Name: name, Problem: fmt.Sprintf("the name is used twice in an attempt, at %s and at %s: "+
			"steps in a loop need names that say what they are about", lineOf(first), lineOf(callers[0]))})
	}
	s.used[name] = callers[0]
	if found := a.findStep(s, name, was); found != nil {
		s.used[found.Name] = callers[0]
		return found, nil
	}
	if a.Undoing {
		return nil, s.noNewStep(name)
	}
	if len(s.stored)+len(s.running) >= rules.Max {
		return nil, s.end(event.ReasonMaxSteps, fmt.Errorf("step %q: the handler has done %d steps, and WithMaxSteps allows no more", name, rules.Max))
	}
	s.running = append(s.running, name)
	return nil, nil
}

// findStep returns a stored step of the handler by its name, or by one that it had before. In a group the member may have had
// another name. The caller holds the mu of the steps.
func (a *Attempt) findStep(s *steps, name string, was []string) *engine.Step {
	members := a.members()
	for _, name := range append([]string{name}, was...) {
		for _, member := range members {
			if found := s.stored[stepName{member, name}]; found != nil {
				return found
			}
		}
	}
	return nil
}

// loadSteps reads the stored steps, once.
func (a *Attempt) loadSteps(s *steps, rules *Steps) error {
	s.loading.Lock()
	defer s.loading.Unlock()
	if s.loaded { // only written below
		return nil
	}
	stored, err := rules.Keeper.Steps(a.run.site.consumer, a.Delivery)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stored, s.loaded = make(map[stepName]*engine.Step, len(stored)), true
	for i := range stored {
		one := &stored[i]
		s.stored[stepName{one.Member, one.Name}] = one
		s.bytes += len(one.Result)
		if one.At.After(s.newest) {
			s.newest = one.At
		}
	}
	return nil
}

// StepTime returns when a step is stored: now, but behind all steps of the run. So these times are an order, whatever the clock
// says.
func (a *Attempt) StepTime() time.Time {
	s := a.stepsOf()
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now().Round(0).Truncate(time.Microsecond)
	if !now.After(s.newest) {
		now = s.newest.Add(time.Microsecond)
	}
	s.newest = now
	return now
}

// WentOn returns since when the handler has been at what it does now: since its last step, or the end of that if it is a sleep. It
// is the zero time if no attempt before this one has stored a step, as far as this one has asked.
func (a *Attempt) WentOn() (since time.Time) {
	s := a.itsSteps()
	if s == nil {
		return since
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	before := false
	for _, step := range s.stored {
		before = before || step.Attempt < a.Number
		at := step.At
		if step.Kind == engine.StepSleep {
			var until time.Time
			if json.Unmarshal(step.Result, &until) == nil && until.After(at) {
				at = until
			}
		}
		if at.After(since) {
			since = at
		}
	}
	if !before {
		return time.Time{}
	}
	return since
}

// maxStepName is how many bytes the name of a step has at most.
const maxStepName = 200

func nameProblem(name string) string {
	switch {
	case name == "":
		return "a step needs a name: it is how the next attempt finds it"
	case strings.HasPrefix(name, engine.UndoPrefix):
		return "names that begin with " + engine.UndoPrefix + " are those of steps that undo others"
	case len(name) > maxStepName:
		return fmt.Sprintf("the name has %d bytes, and a name has %d at most", len(name), maxStepName)
	}
	return ""
}

// lineOf names a place in the program.
func lineOf(pc uintptr) string {
	frame, _ := goruntime.CallersFrames([]uintptr{pc}).Next()
	return fmt.Sprintf("%s:%d", filepath.Base(frame.File), frame.Line)
}

// EndStep says that the function of a step has returned, and whether it has failed. Of one that panics it is not called, so that
// the failure names it.
func (a *Attempt) EndStep(name string, failed bool) {
	if failed && a.late(time.Now()) {
		return // the failure is that it was late, and names it, too
	}
	s := a.stepsOf()
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.running, name); i >= 0 {
		s.running = slices.Delete(s.running, i, i+1)
	}
}

// inStep names the steps in which the handler was, for a failure that is not an error of it.
func (a *Attempt) inStep() string {
	s := a.itsSteps()
	if s == nil {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	text := ""
	for _, name := range s.running {
		text += fmt.Sprintf("step %q: ", name)
	}
	return text
}

// WatchStep tells observers that a step is about to be done. It returns the context for that, and what tells them how it has
// ended.
func (a *Attempt) WatchStep(ctx context.Context, name string, kind engine.StepKind) (within context.Context, ended func(err error)) {
	w := a.Watched()
	if w == nil || w.Step == nil {
		return ctx, func(error) {}
	}
	within, told := w.Step(ctx, name, kind)
	return within, func(err error) {
		stored := engine.StepKind("")
		s := a.stepsOf()
		s.mu.Lock()
		if one := s.stored[stepName{a.member(), name}]; one != nil && one.Attempt == a.Number {
			stored = one.Kind
		}
		s.mu.Unlock()
		told(stored, err)
	}
}

// StepRoom returns how many bytes the result of the next step may have, and why if that is not the limit of a result.
func (a *Attempt) StepRoom() (room int, why string) {
	s, limit := a.stepsOf(), a.handler.Steps.Limit
	s.mu.Lock()
	defer s.mu.Unlock()
	if left := limit*resultsOfRun - s.bytes; left < limit {
		return max(0, left), fmt.Sprintf("the results of all steps of an event may have %d bytes together, and %d are left", limit*resultsOfRun, max(0, left))
	}
	return limit, fmt.Sprintf("a result may have %d bytes (WithStepLimit)", limit)
}

// StoreStep stores a step that the handler has done. It fails with ErrAwaited if one of the events unless is stored.
func (a *Attempt) StoreStep(step engine.Step, unless ...engine.Awaited) error {
	stepping, err := a.Stepping(step)
	if err != nil {
		return err
	}
	stepping.Unless = unless
	return a.StepStored(stepping, a.handler.Steps.Keeper.StoreStep(context.Background(), stepping)) // it is done, whatever ends
}

// Stepping returns what stores a step that the handler does. No deadline ends the attempt until [Attempt.StepStored] is called.
func (a *Attempt) Stepping(step engine.Step) (*engine.Stepping, error) {
	if point := a.handler.Steps.Point; point != nil {
		point(step.Name, false)
	}
	step.Member = cmp.Or(step.Member, a.member())
	step.Attempt, step.Started, step.At = a.Number, cmp.Or(step.Started, a.started), a.StepTime()
	s := a.stepsOf()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over || s.storing == 0 && a.late(time.Now()) {
		return nil, errs.ErrOver
	}
	s.storing++
	return &engine.Stepping{Consumer: a.run.site.consumer, Delivery: a.Delivery, Step: step}, nil
}

// StepStored says that a step was stored, or why it was not. A stored step is progress: the handler has its whole time from
// now on, and what has failed before does not count.
func (a *Attempt) StepStored(of *engine.Stepping, err error) error {
	s := a.stepsOf()
	if err == nil {
		step := &of.Step
		s.mu.Lock()
		s.stored[stepName{step.Member, step.Name}] = step
		s.bytes += len(step.Result)
		s.mu.Unlock()
	}
	a.mu.Lock()
	s.storing--
	s.progress = s.progress || err == nil
	over := a.over
	a.mu.Unlock()
	switch {
	case err == nil:
		a.Turn(false) // if the attempt is over, what follows says so
		if point := a.handler.Steps.Point; point != nil {
			point(of.Step.Name, true)
		}
		return nil
	case over:
		err = errs.ErrOver
	case errors.Is(err, engine.ErrMoved), errors.Is(err, engine.ErrClosed), errors.As(err, new(*event.StorageError)):
		err = &errs.UncommittedError{What: fmt.Sprintf("the step %q could not be stored", of.Step.Name), Err: err}
	}
	a.run.site.deadlines.setAlarm(a) // it may have gone off in vain
	return err
}

// storesStep tells whether a step is being stored, or was since the deadline that has passed. The caller holds mu.
func (a *Attempt) storesStep() bool {
	s := a.itsSteps()
	return s != nil && s.storing > 0
}

// Doom makes the delivery a dead letter when the handler returns.
func (a *Attempt) Doom(reason string, err error) error {
	s := a.stepsOf()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.end(reason, err)
}

// end is Doom for who holds mu. The first one decides.
func (s *steps) end(reason string, err error) error {
	if s.doom == nil {
		s.doom = &errs.StepError{Reason: reason, Err: err}
	}
	return s.doom
}

func (s *steps) doomed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.doom
}

// doomed returns the error that ends the delivery, whatever its handler returns; nil for none.
func (a *Attempt) doomed() error {
	if s := a.itsSteps(); s != nil {
		return s.doomed()
	}
	return nil
}

// WaitEnd returns a time when a wait ends as engines keep it: by the wall clock, in whole microseconds. A handler that was called
// again a part of one too early would wait for that in vain, and again.
func WaitEnd(at time.Time) time.Time {
	return at.Round(0).Add(time.Microsecond - 1).Truncate(time.Microsecond).UTC()
}

// Suspend makes the attempt end as suspended until a time of the wall clock, or until an event comes.
func (a *Attempt) Suspend(until time.Time, awaits ...engine.Await) error {
	s := a.stepsOf()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.Undoing {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.noNewStep("a wait")
	}
	if !s.suspended || until.Before(s.until) {
		s.suspended, s.until = true, until
	}
	s.awaits = append(s.awaits, awaits...)
	return ErrSuspended
}

// isSuspended reports whether the handler waits in a step. The caller holds mu.
func (a *Attempt) isSuspended() bool {
	s := a.itsSteps()
	return s != nil && s.suspended
}

// suspend puts the delivery off until its handler is to go on, for who holds mu. What it has published with its context is
// dropped: it is published by the attempt that succeeds.
func (a *Attempt) suspend(now time.Time) {
	s := a.run.site
	a.withdraw()
	until, awaits := a.itsSteps().until, a.itsSteps().awaits
	switch after := a.run.inForce().ExpiresAfter; {
	case after == 0 || until.Sub(a.Since) < after:
	case len(awaits) > 0: // one may come before
		until = a.Since.Add(after)
	default:
		a.deadLetterFailed(event.ReasonExpired, &event.FailedAttempt{
			Kind: event.KindError, Started: a.started, Ended: now, Log: a.closeJournal(),
			Error: fmt.Sprintf("the handler waits in a step until %s, and the event expires %v after it was published", until.UTC().Format(time.RFC3339), after),
		})
		return
	}
	if n := len(a.staged()); n > 0 && !s.warnedStaged.Swap(true) {
		s.cfg.Logger.Warn("a handler has published with its context and then waits in a step: the events are stored when it succeeds, after the wait; this is logged once",
			a.logged("events", n)...)
	}
	if s.cfg.Strict && !s.warnedStrict.Swap(true) {
		s.cfg.Logger.Warn("a handler waits in a step, and its subscription has a strict order: the later events of its key wait with it; this is logged once",
			a.logged("until", until)...)
	}
	a.tell(a.handler.Count.Suspended(a, until, now))
	a.settle(a.run.disposition(engine.Disposition{Kind: engine.Suspend, Due: until, Awaits: awaits}))
}

// counts returns how many attempts count as failed, and how many executions do not. The caller holds mu.
func (a *Attempt) counts() (failures, uncounted int) {
	if s := a.itsSteps(); s != nil && s.progress {
		return 0, a.Failures + a.Uncounted
	}
	return a.Failures, a.Uncounted
}
