package inspect

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// Retry gives dead letters back to their subscriptions, due now and with a fresh count
// of attempts, the oldest death first. The earlier attempts stay on record, and members
// of a group that have handled the event are not called again. Retry leaves out
// deliveries that die, or die again, while it runs.
//
// It works in small transactions: publishers do not have to wait for long, and when
// ctx ends or the process dies, every dead letter is either retried or still dead. Call
// it again to go on. The counts are right with any error.
//
// A dead letter keeps its steps (package step), and its handler goes on behind the last one; see Selection.Forget. An engine
// without steps refuses that with an error that matches [errors.ErrUnsupported].
//
// With a Canary it waits until the first dead letters are settled, which takes as long
// as their attempts, and for ever if no bus runs on the file: bound it by ctx. If one
// of them dies again, or all that match may end the process, the error is a
// *[CanaryError].
func (f *File) Retry(ctx context.Context, s Selection) (Counts, error) {
	return f.sweep(ctx, s, engine.SweepSpec{Kind: engine.SweepRetry})
}

// DiscardDeadLetters settles dead letters that need not be handled. The reason
// is kept with them, and is part of the outcome of their events; their attempts stay on
// record. In all else it is like [File.Retry].
func (f *File) DiscardDeadLetters(ctx context.Context, s Selection, reason string) (Counts, error) {
	if reason == "" {
		return Counts{}, errors.New("discard dead letters: the reason is empty; say in a few words why they need not be handled")
	}
	return f.sweep(ctx, s, engine.SweepSpec{Kind: engine.SweepDiscard, Reason: reason})
}

// Purge forgets the dead letters that died at Filter.Until or before, which must be
// set, with all their attempts. Their events stay in the log until they are pruned. In
// all else it is like [File.Retry].
func (f *File) Purge(ctx context.Context, s Selection) (Counts, error) {
	if s.Filter.Until.IsZero() {
		return Counts{}, errors.New("purge dead letters: set Filter.Until to the time at which they have died, or before")
	}
	return f.sweep(ctx, s, engine.SweepSpec{Kind: engine.SweepPurge})
}

// Replay delivers handled events to one subscription again, in the order of the log,
// each with a fresh count of attempts. Other subscriptions do not notice. Replay leaves
// out events that the subscription has not handled yet, has as dead letters or has
// discarded, and those from before it began. Events that are published while Replay runs
// are not part of it. One that was open when Replay began, and that the subscription
// handles before its turn, may be: then more events are moved than matched. The filter
// chooses events, and takes no Status, State and Subscriptions; From says with which event of the log to begin.
//
// It works in small transactions: when ctx ends or the process dies, each event was
// replayed or not. A second call replays the same events once more. The counts are
// right with any error. A subscription, or a From, that the file does not know is a
// *[event.NotFoundError].
func (f *File) Replay(ctx context.Context, subscription string, s Selection) (Counts, error) {
	switch f := s.Filter; {
	case f.Status != "" || f.State != "":
		return Counts{}, errors.New("replay events: only those that were handled are replayed; leave the status and the state out")
	case len(f.Subscriptions) > 0:
		return Counts{}, errors.New("replay events: they are replayed to one subscription; leave those of the filter out")
	}
	return f.sweep(ctx, s, engine.SweepSpec{Kind: engine.SweepReplay, Subscription: subscription, From: s.From})
}

// TryNow makes deliveries due now that wait for a retry or for the end of a snooze: their cause is repaired, and nobody has to wait
// for it. Their count of attempts goes on. Deliveries that wait for something else are left alone: those of a delayed event,
// in a step (package step), for a limit, behind others, and those of a paused type. The filter takes Types, Events,
// Subscriptions, CorrelationID and Text. An open circuit breaker and a pause still hold what is due.
//
// In all else it is like [File.Retry].
func (f *File) TryNow(ctx context.Context, s Selection) (Counts, error) {
	return f.sweep(ctx, s, engine.SweepSpec{Kind: engine.SweepTryNow})
}

// sweep changes many deliveries, in steps.
func (f *File) sweep(ctx context.Context, s Selection, spec engine.SweepSpec) (Counts, error) {
	if err := s.check(spec.Kind); err != nil {
		return Counts{}, err
	}
	spec.Filter.Filter, spec.Again = s.Filter, s.again()
	spec.Detail = spec.InWords()
	if s.Note != "" {
		spec.Detail += "; " + s.Note
	}
	if spec.Reason != "" {
		spec.Detail = spec.Reason + " (" + spec.Detail + ")"
	}
	steps, matched, err := f.log.Sweep(ctx, spec)
	if err != nil {
		return Counts{}, err
	}
	w := &sweep{Selection: s, kind: spec.Kind, log: f.log, steps: steps}
	w.counts.Matched = matched
	w.counts.Skipped = max(0, len(s.Filter.Keys)-matched)
	if !s.DryRun {
		err = w.run(ctx)
	}
	return w.counts, err
}

// sweep is a change to many deliveries that has begun.
type sweep struct {
	Selection
	kind   engine.SweepKind
	log    engine.Inspection
	steps  engine.Sweep
	counts Counts
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
	left := wanted - w.counts.Moved
	if w.kind == engine.SweepReplay && w.Limit == 0 && left > 0 {
		left = math.MaxInt // a step may find events that were handled since the count: it is not the end
	}
	if _, err := w.move(ctx, left, false); err != nil {
		return err
	}
	w.counts.Skipped += max(0, wanted-w.counts.Moved)
	return nil
}

// move changes up to n more deliveries, in steps, and returns them.
func (w *sweep) move(ctx context.Context, n int, spareCrashes bool) (all []event.Key, err error) {
	size, pause := w.pace()
	for n > 0 {
		moved, err := w.steps.Step(ctx, min(size, n), spareCrashes)
		if err != nil || len(moved) == 0 {
			return all, err
		}
		all = append(all, moved...)
		n -= len(moved)
		w.counts.Moved += len(moved)
		if w.Progress != nil {
			w.Progress(w.counts)
		}
		// When all that matched are moved, most likely the next step finds nothing.
		if n > 0 && w.counts.Moved != w.counts.Matched {
			if err := sleep(ctx, pause); err != nil {
				return all, err
			}
		}
	}
	return all, nil
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
