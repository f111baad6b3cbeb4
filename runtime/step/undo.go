package step

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/dispatch/errs"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// DoUndo is [Do] with a function that takes the effect of f back. It is called when the handler has given up ([Rollback],
// [runtime.WithUndoOnDeath], [runtime.Bus.Undo]), with the result of f. It is a step itself: done once when it has succeeded, and
// at least once, so give whom it calls the [Key]. If it fails, the event is tried again by the retry policy, and goes on there.
//
// Its ctx has the values of the ctx of DoUndo, and the timeout of the subscription. Neither steps nor publishing with ctx are
// possible in it: use [TxUndo] to publish.
//
// A step whose f has failed is not undone, although its effect may have happened.
func DoUndo[T any](ctx context.Context, name string, f func(ctx context.Context) (T, error), undo func(ctx context.Context, result T) error, opts ...Option) (T, error) {
	var v T
	do := func(ctx context.Context) (err error) {
		v, err = f(ctx)
		return err
	}
	back := func(ctx context.Context, c *call, name string) error {
		started := time.Now()
		if err := undo(withKey(ctx, c.attempt, name), v); err != nil {
			return err
		}
		return c.attempt.StoreStep(engine.Step{Name: name, Kind: engine.StepUndo, Started: started})
	}
	if err := run(ctx, name, engine.StepDo, &v, f == nil || undo == nil, do, append(slices.Clip(opts), Option{undo: back})); err != nil {
		return *new(T), err
	}
	return v, nil
}

// TxUndo is [Tx] with a function that takes its rows back, as [DoUndo] has it. That function runs as one of [runtime.Transact], too:
// what it does is done exactly once.
func TxUndo[T any](ctx context.Context, name string, f func(ctx context.Context, tx runtime.Tx) (T, error), undo func(ctx context.Context, tx runtime.Tx, result T) error, opts ...Option) (T, error) {
	var v T
	do := func(ctx context.Context, tx runtime.Tx) (err error) {
		v, err = f(ctx, tx)
		return err
	}
	back := func(ctx context.Context, c *call, name string) error {
		ctx = withKey(ctx, c.attempt, name)
		step := engine.Step{Name: name, Kind: engine.StepUndo, Started: time.Now()}
		return inner.StepTx(ctx, c.attempt, step, undo, func(tx runtime.Tx, _ *engine.Step) error { return undo(ctx, tx, v) })
	}
	if err := runTx(ctx, name, &v, f == nil || undo == nil, f, do, append(slices.Clip(opts), Option{undo: back})); err != nil {
		return *new(T), err
	}
	return v, nil
}

// Rollback is returned by a handler that gives up. What its steps have done is undone, the newest first, by the functions of
// [DoUndo] and [TxUndo]. In the end the event is a dead letter, with reason undone and err. Nil stands for an error that
// says no more than that.
//
// The handler is called again for that, once for each attempt: the steps that are stored return their results, and name the functions
// that undo them. A step that was not done returns [ErrSuspended] then, and so does all that follows. What the handler returns
// does not matter. What it publishes with its context is dropped.
//
// The undoing has the attempts of the retry policy, which begin anew with each step that is undone. It survives crashes and
// deploys. When it cannot be done the event is a dead letter with reason undo, which names the step; when
// that is retried, the undoing goes on. It cannot be done either if the handler does not come to a step any more that is to be undone.
//
// Without such a step the event is a dead letter at once. A handler that cannot have steps is dead with reason permanent.
func Rollback(err error) error {
	if err == nil {
		err = errors.New("the handler has given up")
	}
	return &errs.RollbackError{Err: err}
}
