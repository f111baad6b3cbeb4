package dlq

import (
	"context"
	"errors"
	"time"

	"github.com/busgen/busgen/runtime/internal/sqlite"
)

// Retry gives dead letters back to their subscriptions, due now and with a
// fresh count of attempts, those that died first first. The attempts they have
// behind them stay on record, and so does what members of a group have handled.
// What dies while it runs, or dies again, is not retried.
//
// Letters are retried in small transactions: publishers do not have to wait for
// long, and when ctx ends or the process dies, every letter is either retried or
// still dead. Call it again to go on. The counts are right with any error.
//
// With a Canary it waits until the first ones are settled, which takes as long
// as their retries, and for ever if no bus runs on the file: bound it by ctx. If
// one of them dies again, the error is a *[CanaryError]; if there are only letters
// that may end the process, it is a *[NoCanaryError].
func (i *Inspector) Retry(ctx context.Context, s Selection) (Counts, error) {
	return i.sweep(ctx, s, sqlite.RetryLetters, "")
}

// Discard settles dead letters that nobody wants to be handled. The reason is
// kept with them, and is part of the outcome of their events; their attempts
// stay on record. In all else it is like [Inspector.Retry].
func (i *Inspector) Discard(ctx context.Context, s Selection, reason string) (Counts, error) {
	if reason == "" {
		return Counts{}, errors.New("discard dead letters: the reason is empty; say in a few words why they need not be handled")
	}
	if s.Canary != 0 {
		return Counts{}, errors.New("discard dead letters: a canary is for retrying only")
	}
	return i.sweep(ctx, s, sqlite.DiscardLetters, reason)
}

// Purge forgets the dead letters that died at Filter.Until or before, which must
// be set, with all their attempts. Their events stay in the log until they are
// pruned. In all else it is like [Inspector.Retry].
func (i *Inspector) Purge(ctx context.Context, s Selection) (Counts, error) {
	if s.Filter.Until.IsZero() {
		return Counts{}, errors.New("purge dead letters: set Filter.Until to the time at which they have died, or before")
	}
	if s.Canary != 0 {
		return Counts{}, errors.New("purge dead letters: a canary is for retrying only")
	}
	return i.sweep(ctx, s, sqlite.PurgeLetters, "")
}

// sweep is a change to many letters, in steps.
type sweep struct {
	*Inspector
	Selection
	steps  *sqlite.Sweep
	counts Counts
}

func (i *Inspector) sweep(ctx context.Context, s Selection, change sqlite.LetterChange, reason string) (Counts, error) {
	if err := s.check(); err != nil {
		return Counts{}, err
	}
	filter, err := s.Filter.stored()
	if err != nil {
		return Counts{}, err
	}
	detail := s.Filter.String()
	if reason != "" {
		detail = reason + " (" + detail + ")"
	}
	w := &sweep{Inspector: i, Selection: s}
	err = i.use(func(d *sqlite.DeadLetters) error {
		w.steps, err = d.Sweep(ctx, filter, change, reason, sqlite.AuditEntry{Actor: i.actor, Detail: detail})
		return err
	})
	if err != nil {
		return Counts{}, err
	}
	w.counts.Matched = w.steps.Matched
	w.counts.Skipped = max(0, len(s.Filter.Keys)-w.steps.Matched)
	if s.DryRun {
		return w.counts, nil
	}
	err = w.run(ctx)
	return w.counts, err
}

func (w *sweep) run(ctx context.Context) error {
	wanted := w.counts.Matched
	if w.Limit > 0 {
		wanted = min(wanted, w.Limit)
	}
	if w.Canary > 0 {
		if err := w.canary(ctx, min(w.Canary, wanted)); err != nil {
			return err
		}
	}
	if err := w.move(ctx, wanted-w.counts.Moved, nil); err != nil {
		return err
	}
	w.counts.Skipped += wanted - w.counts.Moved
	return nil
}

// move changes up to n more letters, in steps, and tells which.
func (w *sweep) move(ctx context.Context, n int, visit func([]sqlite.LetterKey)) error {
	letters, pause := w.pace()
	for n > 0 {
		var moved []sqlite.LetterKey
		err := w.use(func(d *sqlite.DeadLetters) (err error) {
			moved, err = d.Step(ctx, w.steps, min(letters, n))
			return err
		})
		if err != nil || len(moved) == 0 {
			return err
		}
		n -= len(moved)
		w.counts.Moved += len(moved)
		if visit != nil {
			visit(moved)
		}
		if w.Progress != nil {
			w.Progress(w.counts)
		}
		if n > 0 {
			if err := sleep(ctx, pause); err != nil {
				return err
			}
		}
	}
	return nil
}

// sleep waits, or returns the error of a context that ends before.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
