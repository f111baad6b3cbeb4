package dispatch

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
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
		return ErrOver
	case ended != nil:
		return ended
	case a.interrupted() != nil:
		return fmt.Errorf("%w: %w", context.Canceled, a.interrupted())
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
		return ErrOver
	case a.entered:
		return ErrEntered
	}
	a.entered = true
	return nil
}

// TakeStaged returns what the handler, which has succeeded, has staged. The caller stores it
// before the attempt succeeds, with the attempt as context, and calls [Attempt.HasStored];
// nothing more can be staged. The deadline does not end the attempt meanwhile, because what
// is being stored would be published again. If the attempt is over it returns an error.
func (a *Attempt) TakeStaged() ([]engine.Record, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over || a.late(time.Now()) {
		return nil, ErrOver
	}
	staged := a.staged()
	if a.stash != nil {
		a.stash.staged = nil
	}
	a.taken, a.storing = true, len(staged) > 0
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
	case a.run.scheduler.base.Err() != nil:
		return context.Cause(a.run.scheduler.base)
	case ctx == context.Context(a), ctx == context.Context(a.handed):
		return nil
	}
	return ctx.Err()
}
