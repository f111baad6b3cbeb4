package ledger

import (
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// Moment is what holds in the transaction that writes the end of a turn.
type Moment struct {
	At        time.Time // by the clock of the engine
	Due       time.Time // when the disposition is due, by that clock
	Paused    bool      // the event type is paused; asked of a Hold only
	Cancelled bool      // somebody wants the delivery to be discarded
	Why       string    // the reason of that
}

// Next is what a turn makes of a delivery: all that it can change of the row. So an engine that has polled a delivery
// can write its row without having read it.
type Next struct {
	Delivery
	State       State
	Due, Set    time.Time // see Row
	Reason      string
	Fingerprint string
	Ended       time.Time
	Cleared     bool // no earlier crash counts any more: there is no OpenCrash
	Anew        bool // the delivery begins anew: its attempts on record are History, and it is Cleared
}

// Effects is what an engine does besides writing the row, in the same transaction.
type Effects struct {
	Unchanged bool                 // the row stays as it is: nothing of what is returned beside this is written
	Counted   time.Time            // the shared crash that is a failed attempt now, to be put on record before Attempt; zero for none
	Attempt   *event.FailedAttempt // to be put on record
	Settled   bool                 // whoever waits for the delivery is told
	Again     bool                 // the delivery is due at once: whoever polls is woken
	NoNotice  bool                 // the disposition was a dead letter, and there is none: nobody is told of it
	Crash     bool                 // the recovery reports that the handler ran when the process died
}

// Settles reports whether a turn that ends with the disposition settles its delivery, unless a cancel of it is undone
// before that is written.
func Settles(how engine.DispositionKind) bool {
	return how == engine.Done || how == engine.Discard || how == engine.Dead
}

// PutsOff reports whether a turn that ends so had its turn in the order, and has to come again: a strict order holds
// back later events for it. One that was interrupted did not have it, nor one that is parked: it holds back others in
// its waitlists.
func PutsOff(v *engine.Disposition) bool {
	return !Settles(v.Kind) && v.Kind != engine.Release && v.Waitlist == ""
}

// After returns what becomes of a delivery by a turn that ends with the disposition v. begun says that the turn
// had a claim, so that an execution may have happened.
//
// A success without a failed attempt and without a row is not asked about: the cursor of the subscription says it all.
func (d Delivery) After(begun bool, v *engine.Disposition, now Moment) (Next, Effects) {
	called := begun && !v.NotCalled && v.Kind != engine.Release // an interruption says nothing of the handler
	if v.Kind == engine.Release && !begun && v.Progress == d.Progress && len(v.Staged) == 0 {
		return Next{Delivery: d}, Effects{Unchanged: true, Again: true} // nothing has happened
	}
	n, e := Next{Delivery: d, Cleared: called || v.Attempt != nil}, Effects{Attempt: v.Attempt}
	switch {
	case v.Attempt != nil:
		n.Failures++
	case begun && v.Kind != engine.Done:
		n.Uncounted++
	}
	if n.Cleared {
		n.Crashed = false
	}
	if called {
		n.Together = 0
	}
	n.HeldSince, n.Waitlist, n.Key, n.Suspended = time.Time{}, "", "", false
	if v.Kind != engine.Done {
		n.Progress = v.Progress
	}
	switch v.Kind {
	case engine.Done:
		n.State, n.Ended = Done, now.At
	case engine.Dead:
		n.State, n.Reason, n.Fingerprint, n.Ended = Dead, v.Reason, v.Fingerprint, now.At
		if now.Cancelled { // which was not known yet when the attempt ended
			n.State, n.Reason, n.Fingerprint, e.NoNotice = Discarded, now.Why, "", true
		}
	case engine.Undo:
		if now.Cancelled { // a cancel undoes nothing
			n.State, n.Reason, n.Ended = Discarded, now.Why, now.At
			break
		}
		n.Delivery, n.Anew, n.Cleared = n.Delivery.anew(now.At), true, true
		n.Undoing, n.State, n.Due, n.Set = true, Waiting, now.At, now.At
	case engine.Discard:
		if v.Cancelled && !now.Cancelled { // the cancel was undone before this could be written
			n.Delivery, n.Anew, n.Cleared = n.Delivery.anew(now.At), true, true
			n.State, n.Due, n.Set = Waiting, now.At, now.At
			break
		}
		n.State, n.Reason, n.Ended = Discarded, v.Reason, now.At
	default:
		n.putOff(v, now)
		e.Again = n.State == Waiting && !n.Due.After(now.At)
	}
	e.Settled = !n.State.Open()
	e.Again = e.Again || n.Anew
	return n, e
}

// putOff makes a delivery wait for its next turn.
func (n *Next) putOff(v *engine.Disposition, now Moment) {
	n.PutOff = n.PutOff || PutsOff(v)
	if v.Kind == engine.Retry {
		n.MaxAttempts = v.MaxAttempts
	}
	if v.Asked {
		n.Snoozes++
	}
	switch {
	case now.Cancelled: // it is due at once, so that whoever dispatches sees it
	case v.Kind == engine.Retry || v.Kind == engine.Snooze:
		n.Due, n.Set = now.Due, now.At
	case v.Kind == engine.Suspend: // until a time of the wall clock, like a delayed event
		n.Suspended, n.Due = true, v.Due
	case v.Kind == engine.Hold && v.Waitlist != "":
		if n.Waitlist, n.Key = v.Waitlist, v.Key; v.Due.IsZero() {
			n.State = Held
		} else {
			n.Due, n.Set = now.Due, now.At
		}
	case v.Kind == engine.Hold && v.Held != nil:
		n.State, n.Due, n.Set, n.HeldSince = Held, now.Due, now.At, *v.Held
	case v.Kind == engine.Hold && now.Paused: // else the pause has ended meanwhile
		n.State = Held
	}
}

// After returns the row of a delivery after a turn. See [Delivery.After].
func (r Row) After(begun bool, v *engine.Disposition, now Moment) (Row, Effects) {
	if r.Cancelled {
		now.Cancelled, now.Why = true, r.Reason
	}
	n, e := r.Delivery.After(begun, v, now)
	if e.Unchanged {
		return r, e
	}
	return r.Take(n, e), e
}

// Stored returns a delivery of which the attempt that runs has stored a step. That is progress: what has failed before,
// and what the process has died of, counts no more.
func (d Delivery) Stored() Delivery {
	d.Uncounted += d.Failures
	d.Failures, d.MaxAttempts, d.Together, d.Crashed = 0, 0, 0, false
	return d
}

// Take returns the row with what a turn has changed.
func (r Row) Take(n Next, e Effects) Row {
	r.Delivery, r.State, r.Due, r.Set = n.Delivery, n.State, n.Due, n.Set
	if e.Attempt != nil {
		r.Tries++
	}
	if n.Cleared {
		r.OpenCrash = time.Time{}
	}
	if n.Anew {
		r.History = r.Tries
	}
	if e.Settled || n.Anew {
		r.Cancelled = false
	}
	if !r.Cancelled {
		r.Reason = n.Reason
	}
	r.Fingerprint, r.Ended, r.Was = n.Fingerprint, n.Ended, nil
	return r
}
