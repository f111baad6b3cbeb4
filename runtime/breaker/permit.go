package breaker

import "time"

// Permit allows one piece of work. The first of its methods that is called
// counts; later calls do nothing, also on copies of it and from several
// goroutines at once. The zero Permit, which comes with a refusal, does nothing.
//
// The outcome of a permit that was given before the breaker last changed its
// state is ignored: it says nothing about the time since then.
type Permit struct {
	breaker *Breaker
	work    int64
	number  uint64
	place   int
}

// Success ends the permit of work that went well. That of a probe closes the
// breaker. A success, too, can open it: with it there may be enough samples to
// see that too many of them failed.
func (p Permit) Success(now time.Time) { p.settle(now, false, "") }

// Failure ends the permit of work that failed, and says why: the text is kept
// for [Status] until the breaker closes, as long as it is. It opens the breaker
// if too many have now failed, or if this was a probe.
func (p Permit) Failure(now time.Time, why string) { p.settle(now, true, why) }

// Release ends the permit of work that says nothing about what is guarded: it
// was interrupted, put off, or there was none. After that of a probe the next
// Acquire may probe at once. This is no change of state, so nobody is notified:
// whoever releases a permit wakes those who wait for one.
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

// permits knows which permits are out. They are numbered from 1 in the order in
// which they are given. Each has a place that is used again once it is
// redeemed: there are as many as were ever out at the same time.
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

// redeem reports whether the permit was still out. It no longer is.
func (p *permits) redeem(number uint64, place int) bool {
	if p.out[place] != number {
		return false
	}
	p.out[place] = 0
	p.free = append(p.free, place)
	return true
}
