package limit

import (
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// bucket is a limit for one key. It is guarded by the set's mu.
//
// The rate is kept as one time, when the bucket will be full again, by the clock of the file:
// each that begins moves it on by a step, and may begin if it is then no more than Rate
// steps, the span, ahead. So in any time t at most Rate + t/step begin.
type bucket struct {
	limit   *Limit
	key     string
	lends   int              // places that their holders have lent
	used    int              // places; more than AtOnce after some came back by force
	full    time.Time        // when it is full again
	by      engine.LimitRate // the numbers that it goes by: those of the limit, or of another process
	leased  time.Time        // full may go up to here: the file knows
	wanted  bool             // a lease is on its way
	stale   bool             // for other numbers than those of the limit by now
	waiters []*Waiter        // first come, first served
	timer   *time.Timer      // rings when the rate lets the next one begin
	ringing bool             // the timer is set

	claim   uint64 // the look at which a waiter has claimed it
	claimer *Owner // nil for a goroutine, or several
	several bool
}

// free tells whether so many more may run.
func (b *bucket) free(n int) bool { return b.used+n <= b.limit.AtOnce }

// next returns the full time after one more has begun, and how long that has to wait.
func (b *bucket) next(now time.Time) (full time.Time, wait time.Duration) {
	full = later(b.full, now).Add(b.by.Step)
	return full, max(full.Sub(now)-b.by.Span, 0)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// tokenDue tells whether one more may begin once that is stored.
func (b *bucket) tokenDue() bool {
	_, wait := b.next(b.limit.set.clock())
	return wait <= 0
}

// tokenFree tells whether one more may begin. If that is not yet stored, it asks for it.
func (b *bucket) tokenFree() bool {
	full, wait := b.next(b.limit.set.clock())
	if wait > 0 {
		return false
	}
	if full.After(b.leased) {
		b.want()
		return false
	}
	return true
}

// takeToken counts one that begins.
func (b *bucket) takeToken() { b.full, _ = b.next(b.limit.set.clock()) }

// idle tells whether a new bucket would be the same.
func (b *bucket) idle() bool {
	return b.used == 0 && b.lends == 0 && len(b.waiters) == 0 && !b.wanted && !later(b.full, b.leased).After(b.limit.set.clock())
}

// ring sets the timer for the next one of the rate.
func (b *bucket) ring() {
	if b.limit.Rate == 0 || len(b.waiters) == 0 || b.ringing || b.limit.set.reason != nil {
		return
	}
	_, wait := b.next(b.limit.set.clock())
	if wait == 0 {
		return
	}
	b.ringing = true
	if b.timer == nil {
		b.timer = time.AfterFunc(wait, b.rung)
	} else {
		b.timer.Reset(wait)
	}
}

func (b *bucket) rung() {
	s := b.limit.set
	s.mu.Lock()
	defer s.mu.Unlock()
	b.ringing = false
	b.limit.set.kick()
}

func (b *bucket) stopTimer() {
	if b.timer != nil {
		b.timer.Stop()
	}
}
