package retry

import (
	"math"
	"math/bits"
	"time"
)

// Window returns the shortest and the longest wait before execution n. With d, the
// wait before jitter, they are d·(1-Jitter) and d·(1+Jitter), the latter capped at
// MaxDelay. Both are 0 for n ≤ 1.
func (p Policy) Window(n int) (lo, hi time.Duration) {
	d := p.Delay(n)
	if d == 0 || !(p.Jitter > 0) { // not <=: NaN means no jitter
		return d, d
	}
	spread := time.Duration(math.Round(float64(d) * min(p.Jitter, LimitJitter)))
	return d - spread, d + min(spread, p.MaxDelay-d)
}

// Jittered returns the wait before execution n of one event in one subscription:
// a point of [Policy.Window] that a hash of the three chooses uniformly. So events
// that fail together are retried at different times, and the same failure always
// gets the same wait. It does not allocate.
func (p Policy) Jittered(n int, eventID [16]byte, subscription string) time.Duration {
	lo, hi := p.Window(n)
	// The high word of hash·size maps the hash onto [0, size) without a modulo's bias.
	offset, _ := bits.Mul64(drawHash(eventID, subscription, n), uint64(hi-lo)+1)
	return lo + time.Duration(offset)
}

// drawHash hashes with 64-bit FNV-1a and finishes with an avalanche. FNV alone
// leaves the high bits, which decide the draw, nearly equal for inputs that differ
// only in their last byte. Its results must not change, because recomputed
// schedules depend on them; stored due times do not.
func drawHash(eventID [16]byte, subscription string, n int) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	h := uint64(offset)
	for _, b := range eventID {
		h = (h ^ uint64(b)) * prime
	}
	for i := range len(subscription) {
		h = (h ^ uint64(subscription[i])) * prime
	}
	for shift := 0; shift < 64; shift += 8 {
		h = (h ^ uint64(n)>>shift&0xff) * prime
	}
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}
