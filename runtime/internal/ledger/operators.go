package ledger

import (
	"slices"
	"strings"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// EditedInto begins the reason of a dead letter that was edited. The id of the event follows that was made of it.
const EditedInto = "edited into "

// Cancel asks for an open delivery to be discarded. It is due at once, so that the process that dispatches sees that
// and settles it. One that was cancelled before keeps its reason.
func (r Row) Cancel(reason string) Row {
	if !r.State.Open() || r.Cancelled {
		return r
	}
	r = r.wait(time.Time{}, time.Time{})
	r.Cancelled, r.Reason = true, reason
	return r
}

// Discard settles a delivery that no process has in hand: a dead letter, or an open one while no process dispatches.
func (r Row) Discard(reason string, at time.Time) Row {
	var was *Death
	switch {
	case r.State == Dead:
		was = &Death{Reason: r.Reason, Fingerprint: r.Fingerprint, At: r.Ended}
	case !r.State.Open():
		return r
	}
	r = r.end(Discarded, reason, "", at)
	r.Was = was
	return r
}

// Restorable reports whether Restore does something: the delivery is cancelled, or it was discarded. A discard stands
// if the event was erased since, or if another event was made of the dead letter.
func (r Row) Restorable() bool {
	if r.State.Open() {
		return r.Cancelled
	}
	return r.State == Discarded && r.Reason != engine.ReasonErased && !strings.HasPrefix(r.Reason, EditedInto)
}

// Restore undoes Cancel and Discard. A dead letter is what it was. Every other delivery begins anew: it is due now,
// also if it was due later, or held, when it was cancelled, because it makes no difference whether its owner was
// quicker. One that was never tried is new.
func (r Row) Restore(at time.Time) Row {
	switch {
	case !r.Restorable():
	case r.Was != nil:
		r.State, r.Reason, r.Fingerprint, r.Ended, r.Was = Dead, r.Was.Reason, r.Was.Fingerprint, r.Was.At, nil
	default:
		r = r.anew(at)
	}
	return r
}

// Revive tries a dead letter again: byHand for a person, else for a redrive of the catalogue, of which there may be so
// many.
func (r Row) Revive(byHand bool, at time.Time) Row {
	if r.State != Dead {
		return r
	}
	r = r.anew(at)
	r.Retried = true
	if r.Redriven++; byHand {
		r.Redriven = 0
	}
	return r
}

// WaitsToBeTried reports whether a delivery waits for a retry or the end of a snooze: not for a delay, a step, or
// another delivery.
func (r Row) WaitsToBeTried(at time.Time) bool {
	return r.State == Waiting && !r.Cancelled && !r.Suspended && (r.Failures > 0 || r.PutOff) && r.Due.After(at)
}

// TryNow ends such a wait. The count goes on, and so does the time at which the event expires.
func (r Row) TryNow(at time.Time) Row {
	if r.WaitsToBeTried(at) {
		r.Due, r.Set = at, at
	}
	return r
}

// DiedOfCrash reports whether the process ended in the last attempt of a dead letter, which failed in the way lastKind.
// A suspect that has failed otherwise since did not.
func (r Row) DiedOfCrash(lastKind string) bool {
	return r.State == Dead && (r.Reason == event.ReasonCrash || lastKind == event.KindCrash)
}

// Redrivable reports whether a spec chooses a dead letter of its subscription and event type. lastKind says how the
// last attempt failed, and is empty if there was none. No reasons stand for all but a crash, which has to be named.
func (r Row) Redrivable(lastKind string, spec *engine.RedriveSpec) bool {
	switch {
	case r.State != Dead, r.Ended.After(spec.DeadBefore), r.Redriven >= spec.Max, r.Reason == event.ReasonUndone:
		return false
	case r.DiedOfCrash(lastKind) && !slices.Contains(spec.Reasons, event.ReasonCrash):
		return false
	}
	return len(spec.Reasons) == 0 || slices.Contains(spec.Reasons, r.Reason) || lastKind != "" && slices.Contains(spec.Reasons, lastKind)
}

// Replay gives a handled event to its subscription again. r is Handled if the
// delivery has no row. It begins the next run, so it finds no steps.
func (r Row) Replay(at time.Time) Row {
	if r.State != Done {
		return r
	}
	again := Row{Delivery: Delivery{Uncounted: 1 + r.Tries, Delayed: r.Delayed, Replayed: true, Since: at, Run: r.Run + 1}, Tries: r.Tries, History: r.Tries}
	return again.wait(at, at)
}

// Undo has the steps of a settled delivery undone. One that was erased, or that another event was made of, stays as it
// is.
func (r Row) Undo(at time.Time) Row {
	switch {
	case r.State == Dead:
		r = r.Revive(true, at)
	case r.State == Discarded && r.Restorable():
		r = r.anew(at)
	case r.State == Done:
		r = r.Replay(at)
		r.Run-- // it is that run whose steps are undone
	default:
		return r
	}
	r.Undoing = true
	return r
}

// Restart tries a dead letter again by hand, from its start: it begins the next run, so it finds no steps.
func (r Row) Restart(at time.Time) Row {
	if r.State != Dead {
		return r
	}
	r = r.Revive(true, at)
	r.Run, r.Undoing, r.Progress = r.Run+1, false, ""
	return r
}

// Handled returns the row of a delivery that the cursor has passed and that has none.
func Handled(r *engine.Record) Row { return Row{Delivery: New(r), State: Done} }

// Edit makes another event of a dead letter, which is settled by that. made is the row of the new event, which has the
// id into.
func (r Row) Edit(into string, at time.Time) (old, made Row) {
	made = Row{Delivery: Delivery{Together: r.Together, Delayed: true, Since: at, Progress: r.Progress}}
	return r.Discard(EditedInto+into, at), made.wait(at, at)
}

// Import returns the row of a dead letter of another log. made says that its event was made for it.
func Import(l *event.DeadLetter, made bool) Row {
	history := max(len(l.Attempts)-l.Failures, 0)
	r := Row{
		Delivery: Delivery{Failures: l.Failures, Uncounted: history, Delayed: made, Since: l.PublishedAt, Progress: l.Progress},
		Tries:    len(l.Attempts), History: history, Redriven: l.Redriven,
	}
	if r = r.end(Dead, l.Reason, l.Fingerprint, l.DeadAt); r.DiedOfCrash(l.LastAttempt().Kind) {
		r.Together = 1
	}
	return r
}

// Purge forgets a dead letter: it counts as handled, without attempts on record. The engine deletes a row that says
// nothing else.
func (r Row) Purge(at time.Time) Row {
	if r.State != Dead {
		return r
	}
	return Row{Delivery: Delivery{Delayed: r.Delayed, Since: r.Since}, State: Done, Ended: at}
}

// Erase takes a person's event out of a settled delivery. No dead letter is left, and nothing can bring the event back
// to its handler.
func (r Row) Erase(at time.Time) Row {
	if r.State.Open() {
		return r
	}
	if r.State == Dead {
		r = r.end(Discarded, r.Reason, "", at)
	}
	if r.Fingerprint, r.Was = "", nil; r.Reason != "" {
		r.Reason = engine.ReasonErased
	}
	return r
}
