package breaker

import "time"

// Policy says when a [Breaker] opens and for how long. The zero Policy is not
// valid; start from [Default]. Policies are comparable values.
type Policy struct {
	// Off turns the breaker off: it never opens.
	Off bool
	// Threshold is the share of failures above which the breaker opens; exactly
	// this share does not open it. At least 0 and less than 1. With 0, every
	// failure opens it once there are MinSamples samples.
	Threshold float64
	// MinSamples is how many samples the window must hold before the breaker can
	// open. A sample is one piece of work with its latest outcome. The breaker
	// checks with every outcome, successes included. 1 to 10000.
	MinSamples int
	// Window is how long an outcome counts. It slides in steps of a 60th: an
	// outcome is forgotten at an age between 59/60 of Window and Window. 1s to
	// 24h.
	Window time.Duration
	// OpenFor is how long the breaker stays open before it allows one probe.
	// 1ms to 24h.
	OpenFor time.Duration
	// By is the path of a field of payloads: each value of it has a breaker of its own, see [Set]. Empty for one breaker
	// for all. A [Breaker] does not use it.
	By string
}

// Default returns the policy of a subscription that sets nothing: the breaker opens
// for 30s when more than half of at least 4 pieces of work within 60s have failed.
func Default() Policy {
	return Policy{
		Threshold:  0.5,
		MinSamples: 4,
		Window:     60 * time.Second,
		OpenFor:    30 * time.Second,
	}
}

// exceededBy reports whether these outcomes open a closed breaker.
func (p *Policy) exceededBy(c count) bool {
	// A quotient is rounded like the literal of a threshold: 29 of 100 is 0.29,
	// while 0.29·100 would be less than 29.
	return !p.Off && c.samples >= p.MinSamples && float64(c.failures)/float64(c.samples) > p.Threshold
}
