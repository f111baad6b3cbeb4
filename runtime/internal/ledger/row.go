package ledger

import (
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// State is where a delivery stands that has a row.
type State uint8

const (
	// Waiting: its handler is called when it is due and has its turn, or is being called.
	Waiting State = iota
	// Held: its event type is paused. With Delivery.HeldSince: no program could read its version yet. With
	// Delivery.Waitlist: it is parked.
	Held
	// Dead: a dead letter. The bus has given it up, and keeps every attempt for an operator.
	Dead
	// Discarded: settled without having been handled, by its handler, by a cancel or by an operator.
	Discarded
	// Done: handled. The row is kept for its history.
	Done
)

// Open reports whether a delivery in this state is not settled.
func (s State) Open() bool { return s <= Held }

// Delivery is what a handler's turn needs to know of a delivery, and what the turn may change. Every polled delivery
// has it. The zero value is that of an event that was never tried.
type Delivery struct {
	// Failures counts the failed attempts that count against max_attempts, since the delivery was new or began anew.
	Failures int
	// Uncounted counts the executions that may have happened besides, ever: they were snoozed or interrupted, they ended
	// with the process while others ran too, or the delivery began anew after them.
	Uncounted int
	// MaxAttempts is that of the policy for the class of the last error. 0 stands for the policy of the subscription.
	MaxAttempts int
	// Snoozes counts how often the handler has put the delivery off, since it was new or began anew.
	Snoozes int
	// Together is how many suspects a batch may have that this delivery is in. A suspect has 1 at least, and
	// with 1 it runs alone. 0 says that the delivery is no suspect.
	Together int
	// Crashed says that the last attempt that counts ended with the process, and that the handler has not ended otherwise
	// since. Such a delivery is a suspect.
	Crashed bool
	// PutOff says that the delivery had its turn and has to come again. A strict order holds back later events for it.
	PutOff bool
	// Delayed says that the event has a time of its own: it was delayed, or made by an operator.
	Delayed bool
	// Retried says that the delivery was a dead letter before.
	Retried bool
	// Replayed says that the subscription had handled the event before.
	Replayed bool
	// Since is when the event was published or due, or when the delivery began anew. Its expiry counts from here.
	Since time.Time
	// HeldSince is when the delivery was first held because the program could not read its version; zero if it is not
	// held.
	HeldSince time.Time
	// Waitlist is what the delivery waits for that is parked, and has waited for until its turn ends. Key is another
	// waitlist that it holds up.
	Waitlist, Key string
	// Progress, of a group, says which members have handled the event.
	Progress string
	// Run is how often the delivery has begun from its start. Each run has steps of its own.
	Run int
	// Suspended says that the handler waits in a step until the delivery is due.
	Suspended bool
	// Undoing says that the steps of the run are to be undone. Only that is done from then on, until the next run begins.
	Undoing bool
}

// Number returns the number of the next attempt, from 1.
func (d Delivery) Number() int { return d.Failures + d.Uncounted + 1 }

// Suspect reports whether the process died while the handler ran, and the handler has not ended otherwise since.
func (d Delivery) Suspect() bool { return d.Together > 0 }

// Exempt reports whether no strict order waits for the delivery. It comes when it is due, not in its place in the log.
func (d Delivery) Exempt() bool { return d.Delayed || d.Retried }

// HandOut writes into out what a dispatcher gets to see.
func (d Delivery) HandOut(out *engine.Delivery) {
	out.Failures, out.Uncounted, out.MaxAttempts, out.Snoozes = d.Failures, d.Uncounted, d.MaxAttempts, d.Snoozes
	out.Suspect, out.Together, out.Crashed, out.Run = d.Suspect(), int32(d.Together), d.Crashed, int32(d.Run)
	out.Exempt, out.Replayed, out.Undoing = d.Exempt(), d.Replayed, d.Undoing
	out.Since, out.Progress, out.Held, out.Waitlist = d.Since, d.Progress, nil, d.Waitlist
	if !d.HeldSince.IsZero() {
		since := d.HeldSince
		out.Held = &since
	}
}

// Seen returns what a dispatcher has seen of a delivery. It does not know PutOff, nor why the delivery is exempt: a
// turn asks for neither.
func Seen(d *engine.Delivery) Delivery {
	seen := Delivery{
		Failures: d.Failures, Uncounted: d.Uncounted, MaxAttempts: d.MaxAttempts, Snoozes: d.Snoozes, Together: int(d.Together),
		Crashed: d.Crashed, Delayed: d.Exempt, Replayed: d.Replayed, Since: d.Since, Waitlist: d.Waitlist,
		Progress: d.Progress, Run: int(d.Run), Undoing: d.Undoing,
	}
	if d.Suspect {
		seen.Together = max(seen.Together, 1)
	}
	if d.Held != nil {
		seen.HeldSince = *d.Held
	}
	return seen
}

// anew gives the delivery a fresh count. It stays a suspect, and the members of a group that have handled it have done
// so.
func (d Delivery) anew(at time.Time) Delivery {
	d.Uncounted += d.Failures
	d.Failures, d.MaxAttempts, d.Snoozes, d.Crashed, d.PutOff = 0, 0, 0, false, false
	d.Since, d.HeldSince, d.Suspended = at, time.Time{}, false
	return d
}

// New returns what a delivery of an event is that was never tried.
func New(r *engine.Record) Delivery {
	if r.Due.IsZero() {
		return Delivery{Since: r.CreatedAt}
	}
	return Delivery{Since: r.Due, Delayed: true}
}

// Row is all that is kept of a delivery, except the texts of its attempts. Operators change whole rows.
type Row struct {
	Delivery
	State State
	// Due, of an open delivery, is when it comes, by the wall clock; zero for at once. One that is held because its type
	// is paused has none.
	Due time.Time
	// Set is when Due was set, if the delivery waits from then on. If the wall clock is set back, both follow it. It is
	// zero if Due is a time of the wall clock itself, as that of a delayed event.
	Set time.Time

	// Tries counts the attempts on record. History of them were made before the delivery began anew.
	Tries, History int
	// Redriven counts the automatic redrives since a person last retried the dead letter.
	Redriven int
	// OpenCrash is the first crash that the delivery shared with others. It counts as a failed attempt if the next one
	// comes while the delivery runs alone. Zero for none.
	OpenCrash time.Time

	// Cancelled says that an operator wants the open delivery to be discarded, for Reason. The dispatcher settles it.
	Cancelled bool
	// Reason says why the delivery is dead, in one of the words of package engine, or why it is discarded or cancelled.
	Reason string
	// Fingerprint, of a dead delivery, is the same for failures of one kind.
	Fingerprint string
	// Ended is when the delivery was settled.
	Ended time.Time
	// Was, of a discarded delivery, is the dead letter that it was; nil for none.
	Was *Death
}

// Death is what a dead letter alone has.
type Death struct {
	Reason, Fingerprint string
	At                  time.Time
}

// Fresh returns the row of a delivery that was never tried and needs one, such as that of a delayed event.
func Fresh(r *engine.Record) Row { return Row{Delivery: New(r), Due: r.Due} }

// Failing reports whether the delivery had its turn and has to come again, so that a strict order holds back later
// events. What is in a waitlist holds them back there.
func (r Row) Failing() bool {
	return r.State.Open() && !r.Exempt() && r.Waitlist == "" && (r.Failures > 0 || r.PutOff || r.State == Held || r.Suspect() || r.Undoing)
}

// end settles a delivery.
func (r Row) end(s State, reason, fingerprint string, at time.Time) Row {
	r.State, r.Reason, r.Fingerprint, r.Ended = s, reason, fingerprint, at
	r.Due, r.Set, r.HeldSince, r.Waitlist, r.Key, r.Suspended = time.Time{}, time.Time{}, time.Time{}, "", "", false
	r.Cancelled, r.Was = false, nil
	return r
}

// wait makes a delivery wait until due, out of its waitlists; zero for at once.
func (r Row) wait(due, set time.Time) Row {
	r.State, r.Due, r.Set, r.HeldSince, r.Waitlist, r.Key, r.Suspended = Waiting, due, set, time.Time{}, "", "", false
	return r
}

// anew makes a delivery due now, with a fresh count.
func (r Row) anew(at time.Time) Row {
	r = r.end(Waiting, "", "", time.Time{}).wait(at, at)
	r.Delivery, r.History, r.OpenCrash = r.Delivery.anew(at), r.Tries, time.Time{}
	return r
}
