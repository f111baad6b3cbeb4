package breaker

import (
	"sync"
	"time"
)

// Breaker is a circuit breaker. Make one with [New]. It is safe for concurrent
// use; none of its methods blocks, but they may call the function given to
// [Breaker.Notify].
type Breaker struct {
	mu      sync.Mutex // held for no longer than a few counters take
	policy  Policy
	clock   clock
	state   State
	since   time.Duration // by the clock: when a breaker opened that is not closed
	until   time.Duration // by the clock: when an open breaker allows a probe
	last    string        // why the last failure was one; empty while there is none
	window  sliding
	failed  failures
	permits permits
	before  uint64 // permits up to this number were given before the last change of state
	probing bool   // half-open: the probe is under way
	changes changes
}

// New returns a closed breaker without outcomes. It does not check p, which must
// be valid: see [Policy.Validate].
func New(p Policy) *Breaker {
	return &Breaker{policy: p, window: sliding{step: stepOf(p.Window)}}
}

// Tune changes the thresholds of a breaker in use. The new ones apply from the
// next outcome on. The state stays, and so does the time until which the breaker
// is open; only a policy that is Off closes it at once. The outcomes stay as far
// as they fit the new window; when that has another length, their age is known
// to a 60th of the old one, and they are taken for as young as they can be.
// Like New it does not check p.
func (b *Breaker) Tune(p Policy) {
	b.mu.Lock()
	defer b.unlock()
	b.policy = p
	b.failed.move(b.window.resize(p.Window, b.clock.elapsed))
	if p.Off && b.state != Closed {
		b.change(Closed)
	}
}

// Reset closes an open or half-open breaker and forgets all outcomes, because
// somebody knows that what failed works again. Permits that are out end without
// effect. It reports false, and does nothing, if the breaker is closed.
func (b *Breaker) Reset() bool {
	b.mu.Lock()
	defer b.unlock()
	if b.state == Closed {
		return false
	}
	b.change(Closed)
	return true
}

// Acquire asks for a permit for a piece of work, which is identified by
// its number: within the window it is one sample, however often it is tried.
// Work 0 is never the same as other work. A permit is refused while the breaker is open, and while
// it is half-open and a probe is under way. The first to ask an open breaker
// after its time makes it half-open and gets the probe. Every permit must be
// ended.
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

// Status returns the status at a moment, which may lie ahead. It changes nothing.
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

// pass lets time pass up to now.
func (b *Breaker) pass(now time.Time) (at time.Duration) {
	at = b.clock.read(now)
	if b.window.advance(at) {
		b.failed.forget(b.window.oldest())
	}
	return at
}

// redeem ends a permit. It reports whether it was out, and was given since the
// last change of state: when the breaker is half-open, that is the probe.
func (b *Breaker) redeem(p Permit) (current bool) {
	return b.permits.redeem(p.number, p.place) && p.number > b.before
}

// record takes the outcome of a current permit. There is none of an open breaker.
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

// sample counts an outcome in the place of the one that the work had before.
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
