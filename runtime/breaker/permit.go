package breaker

import "time"

// Permit allows one piece of work. The first call of one of its methods ends it;
// later calls do nothing, also on copies and from several goroutines. The zero
// Permit, which Acquire returns with a refusal, does nothing.
//
// If the breaker has changed its state since the permit was given, the outcome is
// ignored: it says nothing about the time since then.
type Permit struct {
	breaker *Breaker
	work    int64
	number  uint64
	place   int
}

// Success ends the permit of work that succeeded. The success of a probe closes
// the breaker. A success can also open a closed breaker: with it, the window may
// have MinSamples samples of which too many failed.
func (p Permit) Success(now time.Time) { p.settle(now, false, "") }

// Failure ends the permit of work that failed. It opens the breaker if too many
// samples have now failed, or if this was a probe. why is the reason that [Status]
// shows until the breaker closes; it is not shortened.
func (p Permit) Failure(now time.Time, why string) { p.settle(now, true, why) }

// Release ends the permit of work without an outcome: it was interrupted,
// postponed, or there was nothing to do. After the release of a probe, the next
// Acquire may probe at once. The state does not change, so the function given to
// Notify is not called: the caller wakes goroutines that wait for a permit.
func (p Permit) Release() {
	b := p.breaker
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.unlock()
	if b.redeem(p) {
		b.probing = false
	}
}

func (p Permit) settle(now time.Time, failed bool, why string) {
	b := p.breaker
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.unlock()
	if b.redeem(p) {
		at := b.pass(now)
		if failed {
			b.last = why
		}
		b.record(at, p.work, failed)
	}
}

// permits knows which permits have not ended. It numbers them from 1 in the order
// in which they are given. Each has a place, which is reused after the permit has
// ended, so there are as many places as permits were ever open at the same time.
type permits struct {
	given uint64
	out   []uint64 // the number of the permit that has the place, or 0
	free  []int
}

func (p *permits) give() (number uint64, place int) {
	if len(p.free) == 0 {
		p.free = append(p.free, len(p.out))
		p.out = append(p.out, 0)
	}
	last := len(p.free) - 1
	place = p.free[last]
	p.free = p.free[:last]
	p.given++
	p.out[place] = p.given
	return p.given, place
}

// redeem ends a permit. It returns false if the permit had ended before.
func (p *permits) redeem(number uint64, place int) bool {
	if p.out[place] != number {
		return false
	}
	p.out[place] = 0
	p.free = append(p.free, place)
	return true
}
