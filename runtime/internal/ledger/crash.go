package ledger

import (
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// Claim is a delivery that was at work in a process that has died.
type Claim struct {
	Unit     string // the subscription, or another name of what has batches of its own
	Together int    // Delivery.Together before the crash
	Waits    bool   // the handler waited for other handlers
	Batch    bool   // it ran in a batch
}

// Others counts what else was at work in that process, and is judged elsewhere.
type Others struct {
	AtWork   int // claims
	Counting int // of these, the ones whose handlers did not wait for others
}

// How a delivery was at work when its process died.
type How uint8

const (
	// Alone: no other handler ran. The crash is a failed attempt.
	Alone How = iota + 1
	// Shared: others ran, too. The crash counts for none of them, and all of them are suspects.
	Shared
	// Waited: the handler waited for others, and did not run. The crash says nothing about it.
	Waited
)

// Verdict is what a crash says about a claim.
type Verdict struct {
	How      How
	Ran      int  // how many handlers ran
	Together int  // of Shared: Delivery.Together from now on
	Again    bool // of Shared: it ran with other suspects of an earlier crash, in a half of their batch
}

// Judge decides what the death of a process says about each of its claims. sure says that nothing else can have run; if
// others may have, nobody was alone.
//
// A handler that waited for others did not run. But if all of them waited, one of them has ended the process, in
// another goroutine: then all of them ran.
//
// The events of a batch may run again in batches with half as many suspects. A crash of such a half leaves half of the
// half, whatever ran beside it. So a batch of n events is down to the one that ends its process after log2(n) crashes.
func Judge(own []Claim, others Others, sure bool) []Verdict {
	ran := others.Counting
	for _, c := range own {
		if !c.Waits {
			ran++
		}
	}
	nobody := ran == 0
	if nobody {
		ran = len(own) + others.AtWork
	}
	waited := func(c Claim) bool { return c.Waits && !nobody }

	type batch struct{ events, suspects int }
	batches := map[string]batch{}
	for _, c := range own {
		if !c.Batch || waited(c) {
			continue
		}
		b := batches[c.Unit]
		if b.events++; c.Together > 0 {
			b.suspects++
		}
		batches[c.Unit] = b
	}

	verdicts := make([]Verdict, len(own))
	for i, c := range own {
		v := Verdict{How: Shared, Ran: ran, Together: 1}
		switch {
		case waited(c):
			v = Verdict{How: Waited, Ran: ran}
		case ran == 1 && sure:
			v.How = Alone
		case c.Batch:
			b := batches[c.Unit]
			v.Together = half(b.events)
			if c.Together > 0 { // handlers that were left behind may have run beside the half
				v.Together, v.Again = min(v.Together, half(c.Together)), b.suspects > 1
			}
		}
		verdicts[i] = v
	}
	return verdicts
}

func half(n int) int { return (n + 1) / 2 }

// Crash returns the row of a delivery that was at work when its process died.
//
// unknown is how many executions the claim knows of that the row does not: successes that could not be written. It is
// negative if the attempt is on record already, because the handler had been left behind. first is when the first of the
// suspects of earlier crashes is due that were not at work; zero for none.
func (r Row) Crash(v Verdict, unknown int, first, at time.Time) (Row, Effects) {
	if unknown < 0 {
		return r.leftBehind(v)
	}
	if !r.State.Open() {
		return r, Effects{Unchanged: true}
	}
	r = r.wait(at, at)
	e := Effects{Again: true, Crash: v.How != Waited}
	if v.How == Waited {
		r.Uncounted += unknown + 1
		return r, e
	}
	r.PutOff = true
	if v.How == Alone {
		e.Attempt = &event.FailedAttempt{Kind: event.KindCrash, Ended: at, Error: engine.CrashText}
		r.Failures, r.Tries, r.Uncounted = r.Failures+1, r.Tries+1, r.Uncounted+unknown
		if !r.OpenCrash.IsZero() { // it is clear by now that it was this one then, too
			e.Counted = r.OpenCrash
			r.Failures, r.Tries, r.Uncounted = r.Failures+1, r.Tries+1, max(0, r.Uncounted-1)
		}
		r.MaxAttempts, r.Crashed, r.Together, r.OpenCrash = 0, true, 1, time.Time{}
		return r, e
	}
	r.Uncounted += unknown + 1
	if v.Again && !first.IsZero() { // the half stays before the ones that are left
		r.Due, r.Set = first, first
	}
	if !r.Suspect() { // of several crashes with others only the first one may count: else they exceed max_attempts
		r.OpenCrash = at
	}
	r.Together = v.Together
	return r, e
}

// leftBehind is Crash for a handler whose attempt is on record. It may have ended the process all the same.
func (r Row) leftBehind(v Verdict) (Row, Effects) {
	if v.How == Waited || !r.State.Open() && r.State != Dead {
		return r, Effects{Unchanged: true}
	}
	r.Together, r.PutOff = 1, true
	return r, Effects{}
}

// Unclaimed returns the row of a delivery that was begun and has no claim: the end of its turn could not be written.
// That is no crash.
func (r Row) Unclaimed() Row {
	r = r.wait(time.Time{}, time.Time{})
	r.Uncounted++
	return r
}

// Unrecorded returns a delivery of which a success may have been lost with the process.
func (d Delivery) Unrecorded() Delivery {
	if d.Failures == 0 {
		d.Uncounted = max(d.Uncounted, 1)
	}
	return d
}
