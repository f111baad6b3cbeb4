package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"time"
)

// Consumer is the engine's side of one subscription. It hands deliveries out and
// takes their dispositions. All methods are safe for concurrent use.
type Consumer interface {
	Source
	Settler
	Parker
}

// Parker keeps deliveries that wait for one another out of memory. A waitlist is what some of them wait for: a limit or
// a breaker by its key, a partition key. A Hold with a Waitlist parks a delivery. Free makes the first of a waitlist
// due, by their place in the log. What is due comes with Poll, in the order in which it became due, so waitlists have
// their turns in the order in which they were freed. A delivery stays in its waitlists until it is settled, however it
// is.
type Parker interface {
	// Parked reports whether any delivery of the subscription may be in a waitlist. It is cheap.
	Parked() bool

	// Behind returns the place of the first of the waitlists that has a delivery of before seq which this process has not
	// in hand, or -1. It knows what was settled before it was called, and counts a delivery in its Waitlist and in its
	// Key.
	Behind(waitlists []string, seq int64) (int, error)

	// Free makes the next n deliveries of a waitlist due that are parked in it. For the empty waitlist it does that with
	// one delivery of each of n waitlists, the next ones each time, so that none waits for ever if what would have freed
	// it did not.
	Free(waitlist string, n int)
}

// maxWaitlist is how long the name of a waitlist is at most.
const maxWaitlist = 200

// WaitlistOf returns the name of a waitlist for a kind of thing that deliveries wait for: of one that is long the
// beginning, and a hash.
func WaitlistOf(kind, of string) string {
	name := kind + " " + of
	if len(name) <= maxWaitlist {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return name[:maxWaitlist-33] + "~" + hex.EncodeToString(sum[:16])
}

// Source hands out the deliveries of a subscription.
type Source interface {
	// Notify registers the function that the engine calls when there may be something to
	// poll: a new event, a retry that became due, a delivery that came back or was cancelled.
	// It is called from the engine's goroutines and must not block.
	//
	// heeds is asked whether the caller goes on, and may be nil. It returns true while the caller waits until it is woken,
	// or has ended. It returns false while the caller polls, or chooses what to begin, or its handlers are at work. It is
	// safe for concurrent use, takes no locks and does not block.
	Notify(wake func(), heeds func() bool)

	// Poll appends up to limit deliveries to dst, and returns at once when
	// there is none. Retries that are due come first, then the log in order.
	//
	// more says who acts next. If it is true there may be more to poll now: the caller polls
	// again, and need not be woken for it. If it is false all that this process knew of when
	// Poll began is handed out or not yet due, and the engine wakes the caller for whatever
	// comes, becomes known or becomes due later. Only more says so: fewer deliveries than limit, or none at all, may
	// be the rest of a page, and the log goes on behind it. Limit is at least 1. While much of what was settled is not
	// written yet, it hands out nothing further of the log, and more is false.
	//
	// The error ErrMoved says that this process has other parts of the subscription
	// than before. Nothing was polled. The caller settles with Release what it has
	// polled and not begun, asks Failing again if it needs to, and polls again.
	Poll(dst []*Delivery, limit int) (polled []*Delivery, more bool, err error)

	// Express reports which express deliveries PollExpress may have. It is cheap. A delivery is express if its event is,
	// and was published when the subscription had a backlog, without an order and without a partition key. The engine
	// decides that. Poll has none of these, and the engine wakes the caller for them.
	Express() (critical, high bool)

	// PollExpress appends up to so many critical deliveries to dst, then up to so many high ones, of each in log order,
	// wherever in the log they are. They are Exempt.
	PollExpress(dst []*Delivery, critical, high int) (polled []*Delivery, err error)

	// Reread makes the next Poll read from the storage what it otherwise believes to
	// know: where the log ends, and when the next retry is due. It reports whether a retry
	// has just become due, so that the engine is about to wake the caller.
	Reread() (soon bool)

	// PollEvent polls the delivery of the event at seq out of turn, if it was put off,
	// or its event is delayed, and it is due. Otherwise it returns nil, and in again
	// when it may be due, which is now for one whose type is paused. again is zero if the
	// delivery is not put off: it is settled, it was polled and is not yet settled, it
	// comes with the log, or the subscription does not get the event. The error may be
	// ErrMoved, as with Poll.
	PollEvent(seq int64) (d *Delivery, again time.Time, err error)

	// Failing returns deliveries that were begun and have to come again: they have
	// failed, were snoozed, or are held. It returns up to limit of those with a seq
	// greater than after, in log order. They are not polled, so they cannot be
	// settled. Of their records only Seq, ID, Type, Version and either Key or Payload
	// are set.
	Failing(after int64, limit int) ([]*Delivery, error)

	// Cancelled reports whether somebody has cancelled or discarded the delivery of an
	// event, and why. It is to be settled as discarded instead of being tried.
	Cancelled(seq int64) (reason string, ok bool)
}

// Settler follows what happens to the deliveries that a Source has handed out.
type Settler interface {
	// Prepare says that code of the program is called for the event of d before its
	// attempt, to decode it; nil says that this is over. If the process dies meanwhile,
	// it is as after Begin. One event at a time is prepared. It may wait for a server: whoever calls holds no lock.
	Prepare(d *Delivery)

	// Begin says that an attempt starts at a delivery, or at those of a batch, each by another one of the subscription's
	// workers, which are numbered from 0. The handler is called next, with nothing that takes time in
	// between: the fact survives the death of the process, and then counts as an attempt.
	// For a suspect it also survives a power cut, unless that comes within the first sync.
	// n is how many have begun, from the first on, and begun is started, or later if that has taken a while.
	//
	// The next one, if there is one, must not be tried. If it was cancelled it is to be settled as discarded, as Cancelled
	// says; if Cancelled says nothing that was undone meanwhile, and Begin is to be called again.
	// Otherwise it is not this process's any more, and must be dropped, neither tried nor
	// settled. The slices are the caller's.
	Begin(all []*Delivery, workers []int, started time.Time) (n int, begun time.Time, cancelled bool)

	// SetWaiting says that the handler which was called after Begin waits for other
	// handlers, or no longer does. If the process dies while it waits and others are at
	// work, that is no attempt that counts, and the delivery is no suspect. It has begun
	// all the same.
	SetWaiting(d *Delivery, waits bool)

	// End says that the handler which was called after Begin has returned. The slice is the caller's.
	End(all []*Delivery)

	// Settle records the disposition of a delivery, and of the others of its batch in the same transaction. One is
	// ignored, staged records included,
	// unless it is this consumer's: polled from it and not settled, while no other
	// consumer has taken its place and it has not moved to another process. Settle does
	// not block: dispositions reach the disk in groups. Staged records become visible
	// in the transaction of the disposition, apart from those whose idempotency key
	// another event has by then: they are dropped, and Dedupe.Settled is told. The slice is the caller's.
	Settle(one Settled, others []Settled)
}

// Settled is a delivery with its disposition.
type Settled struct {
	*Delivery
	Disposition
}
