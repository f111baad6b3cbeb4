package dlq

import (
	"context"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite"
)

// canaryPoll is how often the letters that were retried first are looked at.
const canaryPoll = 100 * time.Millisecond

// canary retries n letters and waits until they are settled. That they are no
// longer dead or open is enough: a handler may also have discarded them. A letter
// whose last attempt has ended the process is no canary, unless the selection is of
// that reason.
func (w *sweep) canary(ctx context.Context, n int) error {
	var keys []sqlite.LetterKey
	harmful := slices.Contains(w.Filter.Reasons, engine.ReasonCrash) // as asked for
	w.steps.Spare(!harmful)
	err := w.move(ctx, n, func(moved []sqlite.LetterKey) { keys = append(keys, moved...) })
	w.steps.Spare(false)
	if err == nil && n > 0 && len(keys) == 0 {
		return &NoCanaryError{Matched: w.counts.Matched}
	}
	for err == nil {
		var open int
		var dead []Key
		if open, dead, err = w.look(ctx, keys); err != nil {
			break
		}
		if open == 0 && len(dead) > 0 {
			return &CanaryError{Retried: len(keys), Failed: dead}
		}
		if open == 0 {
			return nil
		}
		err = sleep(ctx, canaryPoll)
	}
	return err
}

// look tells how many of the letters are open, and which are dead.
func (w *sweep) look(ctx context.Context, keys []sqlite.LetterKey) (open int, dead []Key, err error) {
	var states []sqlite.LetterState
	err = w.use(func(d *sqlite.DeadLetters) error {
		states, err = d.States(ctx, keys)
		return err
	})
	for i, state := range states {
		switch state {
		case sqlite.LetterOpen:
			open++
		case sqlite.LetterDead:
			dead = append(dead, keyOf(keys[i]))
		}
	}
	return open, dead, err
}
