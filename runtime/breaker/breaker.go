package breaker

import (
	"sync"
	"time"
)

// Breaker is a circuit breaker. Make one with [New]. It is safe for concurrent
// use. Its methods do not block, but they may call the function given to
// [Breaker.Notify].
type Breaker struct {
	mu      sync.Mutex // held only while a few counters change
	policy  Policy
	clock   clock
	state   State
	since   time.Duration // by the clock: when the breaker opened, unless it is closed
	until   time.Duration // by the clock: when an open breaker allows a probe
	last    string        // the reason of the last failure; empty if there is none
	window  sliding
	failed  failures
	permits permits
	before  uint64 // permits up to this number were given before the last change of state
	probing bool   // half-open: a probe is under way
	changes changes
}

// New returns a closed breaker without outcomes. It does not check p: call
// [Policy.Validate] first.
func New(p Policy) *Breaker {
	return &Breaker{policy: p, window: sliding{step: stepOf(p.Window)}}
}

// Tune changes the policy of a breaker in use. The new thresholds apply from the
// next outcome on. The state and the time until which the breaker is open do not
// change, but a policy that is Off closes the breaker at once. Outcomes that fit
// the new window stay. If the window has another length, the age of an outcome is
// known only to a 60th of the old window, and the youngest possible age counts.
// Like New, Tune does not check p.
func (b *Breaker) Tune(p Policy) {
	b.mu.Lock()
	defer b.unlock()
	b.policy = p
	b.failed.move(b.window.resize(p.Window, b.clock.elapsed))
	if p.Off && b.state != Closed {
		b.change(Closed)
	}
}

// Reset closes an open or half-open breaker and forgets all outcomes. It is for
// operators who know that the cause is repaired. Permits given before end without
// effect. Reset returns false and does nothing if the breaker is closed.
func (b *Breaker) Reset() bool {
	b.mu.Lock()
	defer b.unlock()
	if b.state == Closed {
		return false
	}
	b.change(Closed)
	return true
}

// Acquire returns a permit for the piece of work with this number, or false.
// Within the window each number is one sample, however often it is tried; each
// call with number 0 is a sample of its own. Acquire refuses while the breaker is
// open, and while it is half-open and a probe is under way. The first call after
// OpenFor has passed makes the breaker half-open and gets the probe. Every permit
// must be ended.
func (b *Breaker) Acquire(now time.Time, work int64) (Permit, bool) {
	b.mu.Lock()
	defer b.unlock()
	at := b.pass(now)
	switch b.state {
	case Open:
		if at < b.until {
			return Permit{}, false
		}
		b.change(HalfOpen)
	case HalfOpen:
		if b.probing {
			return Permit{}, false
		}
	}
	b.probing = b.state == HalfOpen
	number, place := b.permits.give()
	return Permit{b, work, number, place}, true
}

// Status returns the state of the breaker at a moment, which may lie in the
// future. It changes nothing.
func (b *Breaker) Status(now time.Time) Status {
	b.mu.Lock()
	seen := Breaker{state: b.state, since: b.since, until: b.until, last: b.last, clock: b.clock, window: b.window}
	b.mu.Unlock()
	seen.window.advance(seen.clock.read(now))
	return seen.status()
}

func (b *Breaker) status() Status {
	s := Status{State: b.state, Samples: b.window.total.samples, Failures: b.window.total.failures, LastFailure: b.last}
	if b.state != Closed {
		s.Since = b.clock.moment(b.since)
	}
	if b.state == Open {
		s.Until = b.clock.moment(b.until)
	}
	return s
}

// pass advances the clock and the window to now.
func (b *Breaker) pass(now time.Time) (at time.Duration) {
	at = b.clock.read(now)
	if b.window.advance(at) {
		b.failed.forget(b.window.oldest())
	}
	return at
}

// redeem ends a permit. It returns true if the permit had not ended yet and was
// given since the last change of state. In a half-open breaker, that is the probe.
func (b *Breaker) redeem(p Permit) (current bool) {
	return b.permits.redeem(p.number, p.place) && p.number > b.before
}

// record counts the outcome of a permit that was given in the present state. An
// open breaker gives none.
func (b *Breaker) record(at time.Duration, work int64, failed bool) {
	b.sample(work, failed)
	switch b.state {
	case Closed:
		if b.policy.exceededBy(b.window.total) {
			b.open(at)
		}
	case HalfOpen:
		if failed {
			b.open(at)
		} else {
			b.change(Closed)
		}
	}
}

// sample counts an outcome and replaces an earlier failure of the same work.
func (b *Breaker) sample(work int64, failed bool) {
	if step, ok := b.failed.take(work); ok {
		b.window.remove(step, count{samples: 1, failures: 1})
	}
	b.window.record(failed)
	if failed {
		b.failed.add(work, b.window.number)
	}
}

func (b *Breaker) open(at time.Duration) {
	if b.state == Closed {
		b.since = at
	}
	b.until = at + b.policy.OpenFor
	b.change(Open)
}

func (b *Breaker) change(to State) {
	old := b.status()
	b.state = to
	b.before = b.permits.given
	if to == Closed {
		b.window.clear()
		b.failed = failures{}
		b.last = ""
	}
	b.changes.add(old, b.status())
}
