package inspect

import (
	"context"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// canaryPoll is how often the dead letters that were retried first are looked at.
const canaryPoll = 100 * time.Millisecond

// canary retries n dead letters and waits until they are settled: a handler may also
// have discarded them. It leaves out those whose last attempt has ended the process,
// unless the selection is of that reason.
func (w *sweep) canary(ctx context.Context, n int) error {
	keys, err := w.move(ctx, n, !slices.Contains(w.Filter.Reasons, event.ReasonCrash))
	if err == nil && n > 0 && len(keys) == 0 {
		return &CanaryError{Matched: w.counts.Matched}
	}
	for err == nil {
		var became []engine.Redelivery
		if became, err = w.log.Redelivered(ctx, keys); err != nil {
			break
		}
		if !slices.Contains(became, engine.RedeliveryOpen) {
			return w.canaryError(keys, became)
		}
		err = sleep(ctx, canaryPoll)
	}
	return err
}

// canaryError returns nil if no dead letter died again.
func (w *sweep) canaryError(keys []event.Key, became []engine.Redelivery) error {
	var failed []event.Key
	for i, one := range became {
		if one == engine.RedeliveryDead {
			failed = append(failed, keys[i])
		}
	}
	if len(failed) == 0 {
		return nil
	}
	return &CanaryError{Matched: w.counts.Matched, Retried: len(keys), Failed: failed}
}
