package retry

import (
	"math"
	"time"
)

// Policy says how often and when a handler runs for one event. The zero Policy is
// not valid; start from [Default]. Policies are values and can be compared with ==.
type Policy struct {
	// MaxAttempts is how often a handler may run for one event, including
	// the first time: 1 means no retry. 1 to 1000, never unlimited.
	MaxAttempts int
	// Backoff is how the waits grow.
	Backoff Backoff
	// BaseDelay is the nominal wait before the second execution. 0 to 30 days.
	BaseDelay time.Duration
	// MaxDelay caps every wait, jitter included. 0 to 30 days.
	MaxDelay time.Duration
	// Multiplier is the growth per execution of an exponential backoff; the
	// other shapes ignore it. 1 to 1000.
	Multiplier float64
	// Jitter is the fraction by which a wait may be shorter or longer than
	// its nominal length. 0 to 0.5.
	Jitter float64
}

// Default returns the policy of an event type that sets nothing: 4 attempts,
// exponential from 1s, doubling up to 30s, spread by a tenth.
func Default() Policy {
	return Policy{
		MaxAttempts: 4,
		Backoff:     Exponential,
		BaseDelay:   time.Second,
		MaxDelay:    30 * time.Second,
		Multiplier:  2,
		Jitter:      0.1,
	}
}

// Delay returns the nominal wait between the failure of execution n-1 and the
// start of execution n, before jitter. It is 0 for n ≤ 1, never negative and
// never above MaxDelay, for any n: a product too large for a Duration is
// capped like any other.
func (p Policy) Delay(n int) time.Duration {
	if n <= 1 || p.BaseDelay <= 0 || p.MaxDelay <= 0 {
		return 0
	}
	switch p.Backoff {
	case None:
		return 0
	case Constant:
		return min(p.BaseDelay, p.MaxDelay)
	case Linear:
		return p.linear(n)
	default:
		return p.exponential(n)
	}
}

func (p Policy) linear(n int) time.Duration {
	factor := time.Duration(n - 1)
	if factor > p.MaxDelay/p.BaseDelay { // the product would be above the cap, or overflow
		return p.MaxDelay
	}
	return p.BaseDelay * factor
}

func (p Policy) exponential(n int) time.Duration {
	d := math.Round(float64(p.BaseDelay) * math.Pow(p.Multiplier, float64(n-2)))
	if !(d < float64(p.MaxDelay)) { // not >=: an infinite or undefined product is capped too
		return p.MaxDelay
	}
	return max(0, time.Duration(d))
}

// Exhausted reports whether an event that failed this many times has used up
// its attempts.
func (p Policy) Exhausted(failures int) bool { return failures >= p.MaxAttempts }

// Step is one execution in a [Policy.Schedule].
type Step struct {
	Attempt int           // 1 for the first execution
	Delay   time.Duration // nominal wait before it
	Lo, Hi  time.Duration // the window into which jitter may move that wait
	Total   time.Duration // sum of the nominal waits up to this execution
}

// Schedule returns every execution that p allows, in order. Total counts
// waits only, not the time that handlers take. p must be valid.
func (p Policy) Schedule() []Step {
	steps := make([]Step, 0, max(0, min(p.MaxAttempts, LimitAttempts)))
	var total time.Duration
	for n := 1; n <= cap(steps); n++ {
		d := p.Delay(n)
		lo, hi := p.Window(n)
		total += d
		steps = append(steps, Step{Attempt: n, Delay: d, Lo: lo, Hi: hi, Total: total})
	}
	return steps
}
