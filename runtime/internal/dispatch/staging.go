package dispatch

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/internal/dispatch/errs"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/transact"
)

// Stage keeps events to be appended in the transaction that records the
// success of the attempt. The context is the attempt or derived from it; if it has
// ended nothing is kept. A record with an idempotency key that was staged before, by this
// attempt or by members of the group before it, becomes a Duplicate; if the payload differs
// the error is an *event.ConflictError, and nothing is kept.
func (a *Attempt) Stage(ctx context.Context, records []engine.Record) error {
	ended := a.endOf(ctx)
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.over || a.taken || a.late(time.Now()):
		return errs.ErrOver
	case a.isSuspended():
		return ErrSuspended
	case ended != nil:
		return ended
	case a.interrupted() != nil:
		return fmt.Errorf("%w: %w", context.Canceled, a.interrupted())
	}
	if a.Undoing {
		return a.stageUndoing(len(records))
	}
	if err := a.recognise(records); err != nil {
		return err
	}
	if len(records) > 0 {
		stash := a.stashed()
		stash.staged = append(stash.staged, records...)
	}
	return nil
}

// recognise makes records duplicates whose idempotency key the run has staged before.
func (a *Attempt) recognise(records []engine.Record) error {
	keyed := false
	for i := range records {
		keyed = keyed || records[i].Dedupe != nil
	}
	if !keyed {
		return nil
	}
	keys := a.stashed().keys
	if keys == nil {
		keys = engine.Keys{}
		if a.run.members != nil {
			for _, r := range a.run.staged { // by members before
				keys.Recognise(&r)
			}
		}
	}
	if len(records) > 1 {
		keys = maps.Clone(keys) // on an error nothing is staged
	}
	for i := range records {
		if err := keys.Recognise(&records[i]); err != nil {
			return err
		}
	}
	a.stash.keys = keys
	return nil
}

// Enter says that a middleware calls the handler. It may do so once, and not after the
// attempt is over.
func (a *Attempt) Enter() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.over || a.late(time.Now()):
		return errs.ErrOver
	case a.entered:
		return errs.ErrEntered
	}
	a.entered = true
	return nil
}

// TakeStaged returns what the handler, which has succeeded, has staged. The caller stores it
// before the attempt succeeds, with the attempt as context, and calls [Attempt.HasStored];
// nothing more can be staged. The deadline does not end the attempt meanwhile, because what
// is being stored would be published again. If the attempt is over, suspended or ended by others, it returns an error.
func (a *Attempt) TakeStaged() ([]engine.Record, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.over || a.late(time.Now()):
		return nil, errs.ErrOver
	case a.isSuspended():
		return nil, ErrSuspended
	case a.interrupted() != nil:
		return nil, fmt.Errorf("%w: %w", context.Canceled, a.interrupted())
	}
	staged := a.staged()
	if a.stash != nil {
		a.stash.staged = nil
	}
	a.taken, a.storing = true, true
	return staged, nil
}

// HasStored says that what TakeStaged has returned is stored.
func (a *Attempt) HasStored() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stored = true
}

// endOf returns why a context of the attempt has ended, or nil. The attempt itself is
// not asked, because that would cost a context.
func (a *Attempt) endOf(ctx context.Context) error {
	switch {
	case a.run.site.base.Err() != nil:
		return context.Cause(a.run.site.base)
	case ctx == context.Context(a), ctx == context.Context(a.handed):
		return nil
	}
	return ctx.Err()
}

// An attempt can be stored together with what its handler writes: the handler, or what it
// leaves to be done in the end, runs within a transaction of the log, and the success of
// the attempt is part of it. Such an attempt is settled by the engine when its handler
// returns. The disposition that follows finds that it is.

// Atomically keeps a function that is to run in one transaction with the record of the
// attempt's success, after the handler has returned. It refuses one where there is no such
// transaction.
func (a *Attempt) Atomically(f func(tx engine.Tx) error) error {
	if !a.handler.Commits {
		return transact.ErrNotAtomic
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over || a.taken || a.late(time.Now()) {
		return errs.ErrOver
	}
	stash := a.stashed()
	stash.atomic = append(stash.atomic, f)
	a.extras().commits.Store(true)
	return nil
}

// Commits tells whether the handler has left functions for [Attempt.Commit].
func (a *Attempt) Commits() bool {
	x := a.extra.Load()
	return x != nil && x.commits.Load()
}

// Rewind makes the attempt forget what a call of its handler has left behind, before the
// handler is called again within the attempt.
func (a *Attempt) Rewind() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.taken, a.storing, a.entered = false, false, false
	if a.stash != nil {
		a.stash.staged, a.stash.keys, a.stash.atomic = nil, nil, nil
	}
}

// Commit does in a transaction what the handler, which has succeeded, has left to be done:
// it runs its functions and appends what it has staged. From here on nothing more can be
// staged, and the deadline does not end the attempt. It may be called again for the same
// attempt, with another transaction.
func (a *Attempt) Commit(tx engine.Tx) error {
	a.mu.Lock()
	if a.over || !a.storing && a.late(time.Now()) {
		a.mu.Unlock()
		return errs.ErrOver
	}
	a.taken, a.storing = true, true
	stash := a.stashed()
	functions := stash.atomic
	staged := slices.Clone(stash.staged) // another transaction may find other duplicates
	stash.appended = staged
	a.mu.Unlock()
	for _, f := range functions {
		if err := f(tx); err != nil {
			return err
		}
	}
	if len(staged) == 0 {
		return nil
	}
	return tx.Append(staged)
}

// Settling is the success of the attempt, as part of a transaction.
func (a *Attempt) Settling() *engine.Settling {
	return &engine.Settling{Consumer: a.run.site.consumer, Delivery: a.Delivery, Stored: a.countStored}
}

// countStored counts a success as soon as it is stored, so that a caller that waits for the
// delivery finds it counted. Observers are told later, by [Attempt.succeed]: they must not hold up
// the engine.
func (a *Attempt) countStored() {
	a.counted = true
	a.handler.Count.Succeeded(a, time.Now())
	if a.stash == nil {
		return
	}
	for _, r := range a.stash.appended { // by Commit
		if d := r.Dedupe; d != nil && d.Settled != nil && !r.Duplicate {
			d.Settled(r.ID, nil)
		}
	}
}

// uncommittedDelay is when a transaction that could not be stored is tried again.
const uncommittedDelay = time.Second

// putBack gives a delivery back whose transaction could not be stored.
func (a *Attempt) putBack(f failure) {
	a.withdraw()
	a.run.site.cfg.Logger.Warn("what a handler has done could not be stored; it is tried again, and does not count as an attempt",
		a.logged("error", f.text)...)
	a.settle(a.run.disposition(engine.Disposition{Kind: engine.Snooze, Due: time.Now().Add(uncommittedDelay)}))
}
