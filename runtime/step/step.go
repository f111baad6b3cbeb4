package step

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/dispatch"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/inside"
)

// Do calls f, stores what it returns under the name, and returns it when it is on disk. If the name is stored, Do returns the
// stored value and does not call f. If f fails, nothing is stored and Do returns its error: the handler returns it, and
// the attempt has failed. Nothing is stored either if f panics, ends its goroutine, or returns after the timeout.
//
// What Do returns is what the file gives back, also the first time: fields that JSON leaves out are zero.
//
// At least once: if the process dies between the effect of f and the storing, the next attempt calls f again. Give whom f
// calls the [Key] of the step. Steps of many handlers share one sync.
//
// T is any type that encoding/json writes and reads. One that it cannot write or read, such as a channel or an error, is
// refused before f is called. The errors are
//
//   - that of f, with the name of the step
//   - [ErrSuspended]: the handler waits in another step
//   - [runtime.ErrAttemptOver]: the attempt is over, because its timeout has passed or the handler has returned
//   - *[NameError]: the name was used before in this attempt, is empty, or longer than 200 bytes
//   - *[ResultError]: the result does not fit T, is too large ([runtime.WithStepLimit]), or cannot be written
//   - *[event.StorageError]: the file cannot be read or written; the event is tried again after a second, which does not
//     count as an attempt
//   - an error that matches [errors.ErrUnsupported], outside of an ordinary handler
//   - that of ctx, if it has ended before
//
// After a *NameError, a *ResultError and too many steps ([runtime.WithMaxSteps]) the event becomes a dead letter, whatever the
// handler returns.
func Do[T any](ctx context.Context, name string, f func(ctx context.Context) (T, error), opts ...Option) (T, error) {
	var v T
	call := func(ctx context.Context) (err error) {
		v, err = f(ctx)
		return err
	}
	if err := run(ctx, name, engine.StepDo, &v, f == nil, call, opts); err != nil {
		return *new(T), err
	}
	return v, nil
}

// Tx is [Do] for work that is rows of the file: f runs as a function of [runtime.Transact]. Its rows, the events that it
// publishes with tx, and its result are stored together: exactly once. f is short, may be called again with another tx,
// and has no effect but through it.
//
// Publish here what others shall hear now: what a handler publishes with its context waits until the handler succeeds. If
// the result is too large, nothing of f is stored. The other errors are those of Do, and *[event.TxTimeoutError].
func Tx[T any](ctx context.Context, name string, f func(ctx context.Context, tx runtime.Tx) (T, error), opts ...Option) (T, error) {
	var v T
	call := func(ctx context.Context, tx runtime.Tx) (err error) {
		v, err = f(ctx, tx)
		return err
	}
	if err := runTx(ctx, name, &v, f == nil, f, call, opts); err != nil {
		return *new(T), err
	}
	return v, nil
}

// Option changes how a step is found or read.
type Option struct {
	was   string
	reads any                                                   // func(stored json.RawMessage) (T, error)
	undo  func(ctx context.Context, c *call, name string) error // does the step of that name; set by this package
}

// Was names what the step was called before. A result that is stored under that name is found; if there is one under the new
// name too, that is the one. Several options name several former names.
func Was(name string) Option { return Option{was: name} }

// Reads says how a stored result is read that does not fit T, because it was stored as another type. f gets the stored
// JSON. If it fails, the event becomes a dead letter, with reason decode. T is that of the step.
func Reads[T any](f func(stored json.RawMessage) (T, error)) Option { return Option{reads: f} }

type keyOf struct{}

// Key returns what is the same in every attempt of the step whose ctx this is: the id of the event, the subscription, the run
// and the name of the step. It is for idempotency keys of others, and differs after a replay. It is empty outside of the
// function of a step.
func Key(ctx context.Context) string {
	key, _ := ctx.Value(keyOf{}).(string)
	return key
}

// call is a step of a handler that is to be done.
type call struct {
	attempt *dispatch.Attempt
	name    string
	kind    engine.StepKind
	to      reflect.Value // what the result is kept in
	started time.Time
	undo    func(ctx context.Context, c *call, name string) error // nil for none
}

// inner is package runtime.
var inner = inside.Runtime.(interface {
	StepTx(ctx context.Context, a *dispatch.Attempt, step engine.Step, user any, f func(tx runtime.Tx, step *engine.Step) error) error
	Awaited(a *dispatch.Attempt, types []runtime.Definition, keys []string) ([]engine.Awaited, error)
	Got(types []runtime.Definition, r *engine.Record) (runtime.Head, any, error)
})

// callers is how many functions of this package are between a handler and [dispatch.Attempt.BeginStep].
const callers = 3

// begin looks for a step. It returns nil if there is nothing to do: the stored result is in v, or there is an error.
func begin(ctx context.Context, name string, kind engine.StepKind, v any, none bool, opts []Option) (*call, error) {
	a, err := attemptOf(ctx, name)
	if err != nil {
		return nil, err
	}
	var undo func(ctx context.Context, c *call, name string) error
	for _, opt := range opts {
		if opt.undo != nil {
			undo = opt.undo
		}
	}
	was, reads := former(opts)
	stored, err := a.BeginStep(ctx, name, was, callers)
	if err != nil {
		return nil, err
	}
	c := &call{attempt: a, name: name, kind: kind, to: reflect.ValueOf(v).Elem(), started: time.Now(), undo: undo}
	if stored != nil {
		if err = c.take(stored, reads); err == nil && undo != nil {
			err = a.NameUndo(ctx, stored, func(ctx context.Context, name string) error { return undo(ctx, c, name) })
		}
		return nil, err
	}
	problem := ""
	if none {
		problem = "the function is nil"
	} else {
		problem = unstorable(c.to.Type())
	}
	if reads != nil && problem == "" && !readsInto(reads, c.to.Type()) {
		problem = fmt.Sprintf("Reads has a %T, which does not return a %v", reads, c.to.Type())
	}
	if problem != "" {
		a.EndStep(name, false)
		return nil, a.Doom(event.ReasonPermanent, &ResultError{Step: name, Problem: problem})
	}
	return c, nil
}

// former returns the names that a step had before, and what reads an older result.
func former(opts []Option) (was []string, reads any) {
	for _, opt := range opts {
		if opt.was != "" {
			was = append(was, opt.was)
		}
		if opt.reads != nil {
			reads = opt.reads
		}
	}
	return was, reads
}

// context returns the context for the function of the step.
func (c *call) context(ctx context.Context) context.Context {
	return withKey(ctx, c.attempt, c.name)
}

func withKey(ctx context.Context, a *dispatch.Attempt, name string) context.Context {
	return context.WithValue(ctx, keyOf{}, fmt.Sprintf("%s/%s/%d/%s", a.ID, a.HandlerName(), a.Run, name))
}

func (c *call) failed(err error) error { return fmt.Errorf("step %q: %w", c.name, err) }

func (c *call) step(kind engine.StepKind, result []byte) engine.Step {
	return engine.Step{Name: c.name, Kind: kind, Result: result, Shape: shapeOf(c.to.Type()), Undoes: c.undo != nil, Started: c.started}
}

func run(ctx context.Context, name string, kind engine.StepKind, v any, none bool, f func(ctx context.Context) error, opts []Option) (err error) {
	c, err := begin(ctx, name, kind, v, none, opts)
	if c == nil {
		return err
	}
	ctx, ended := c.attempt.WatchStep(ctx, name, kind)
	defer func() { ended(err) }()
	err = f(c.context(ctx))
	c.attempt.EndStep(name, err != nil)
	if err != nil {
		return c.failed(err)
	}
	written := false
	defer func() {
		if !written { // a method that writes it has ended the goroutine
			c.lose(&ResultError{Step: name, Problem: "its result cannot be written as JSON: its code ends the goroutine (runtime.Goexit)"})
		}
	}()
	result, problem := c.write()
	written = true
	if problem != nil {
		return c.lose(problem)
	}
	if err := c.attempt.StoreStep(c.step(kind, result)); err != nil {
		return err
	}
	return c.read(result)
}

// lose notes that the step was done, and that its result cannot be stored: what it has done cannot be taken back, so it must
// not be done again.
func (c *call) lose(problem *ResultError) error {
	lost := c.step(engine.StepLost, nil)
	lost.Shape = problem.Problem
	if err := c.attempt.StoreStep(lost); err != nil {
		return err
	}
	return c.attempt.Doom(event.ReasonPermanent, problem)
}

func runTx(ctx context.Context, name string, v any, none bool, user any, f func(ctx context.Context, tx runtime.Tx) error, opts []Option) (err error) {
	c, err := begin(ctx, name, engine.StepTx, v, none, opts)
	if c == nil {
		return err
	}
	ctx, ended := c.attempt.WatchStep(ctx, name, engine.StepTx)
	defer func() { ended(err) }()
	var own error
	var problem *ResultError
	var result []byte
	ctx = c.context(ctx)
	err = inner.StepTx(ctx, c.attempt, c.step(engine.StepTx, nil), user, func(tx runtime.Tx, step *engine.Step) error {
		c.to.SetZero()
		own = f(ctx, tx)
		if own != nil {
			return own
		}
		if result, problem = c.write(); problem != nil {
			return problem
		}
		step.Result = result
		return nil
	})
	c.attempt.EndStep(name, err != nil)
	switch {
	case problem != nil:
		return c.attempt.Doom(event.ReasonPermanent, problem)
	case err != nil && own != nil:
		return c.failed(err)
	case err != nil:
		return err
	}
	return c.read(result)
}
