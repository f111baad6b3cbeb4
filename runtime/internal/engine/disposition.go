package engine

import (
	"time"

	"github.com/busgen/busgen/runtime/event"
)

// DispositionKind is how a delivery's turn ends.
type DispositionKind uint8

const (
	// Done: handled. Final.
	Done DispositionKind = iota + 1
	// Retry: failed; due again at Disposition.Due.
	Retry
	// Snooze: put off until Disposition.Due; it does not count as an attempt.
	Snooze
	// Hold: put off until its type is no longer paused. With a Due it is held because this
	// program cannot read its version: until a process takes over, or it is due. With a Waitlist it is
	// parked: until the waitlist is freed, or it is due, if it has a Due.
	Hold
	// Discard: settled without having been handled. Final.
	Discard
	// Dead: failed for good; kept with every attempt for an operator.
	Dead
	// Release: not attempted, or interrupted by an orderly shutdown; handed
	// out again by the next consumer of the name.
	Release
	// Suspend: its handler waits until Disposition.Due, a time of the wall clock, and holds nothing meanwhile. It counts
	// neither as an attempt nor as a snooze.
	Suspend
	// Undo: given up. What its steps have done is undone first: it begins anew, with Delivery.Undoing, and is Dead in the
	// end.
	Undo
)

// Disposition is what Settle records.
type Disposition struct {
	Kind  DispositionKind
	Asked bool // of Snooze: the handler has asked for it, which is counted
	// NotCalled says that the handler was not called after all, although the delivery was begun: a suspect stays one.
	NotCalled bool
	// Cancelled of Discard says that it is only because of what Source.Cancelled has
	// said. If that was undone meanwhile, the delivery begins anew instead.
	Cancelled bool
	Attempt   *event.FailedAttempt // of Retry, Dead and Undo: what failed; nil if nothing new was tried
	Due       time.Time            // of Retry, Snooze, Suspend and some Holds; its distance from now is by the monotonic clock, but for Suspend
	Held      *time.Time           // of a Hold for its version: since when, which Delivery.Held says the next time
	// Waitlist of a Hold is what the delivery waits for; see Parker. Key is another waitlist that it holds up, because it
	// goes before the others there; empty for none.
	Waitlist, Key string
	// Frees are waitlists that go on with this: as Parker.Free with one of each, in the same transaction.
	Frees []string
	// Awaits of Suspend are what the delivery waits for, besides its time; see Awaiter. They take the place of those
	// before.
	Awaits []Await
	// MaxAttempts of Retry is Delivery.MaxAttempts from now on.
	MaxAttempts int
	Reason      string // of Dead: one of the Reason constants; of Discard: in words
	// Fingerprint of Dead is the same for failures of the same kind.
	Fingerprint string
	// Progress of all but Done is handed out with the delivery when it comes again, also
	// after a discard that was undone.
	Progress string
	Staged   []Record // to be appended with the disposition, whatever its kind
	Step     *Step    // of Undo: says why, and is stored with it
}

// Reasons returns all reasons for which a delivery is dead.
func Reasons() []string {
	return []string{event.ReasonMaxAttempts, event.ReasonPermanent, event.ReasonDecode, event.ReasonCrash, event.ReasonExpired, event.ReasonMaxSnoozes, event.ReasonMaxSteps,
		event.ReasonUndone, event.ReasonUndo}
}
