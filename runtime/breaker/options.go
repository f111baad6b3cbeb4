package breaker

import "time"

// An Option sets one field of a [Policy] and leaves the others as they were
// inherited. Options do not check their values: [Policy.Validate] does. The zero
// Option changes nothing.
type Option struct {
	field field
	value Policy // of which only that field counts
}

type field uint8

const (
	_ field = iota
	off
	threshold
	minSamples
	window
	openFor
	by
)

// Off turns the breaker off: it never opens.
func Off() Option { return Option{off, Policy{Off: true}} }

// On undoes Off: the breaker opens as its other fields say.
func On() Option { return Option{off, Policy{}} }

// Threshold sets the share of failures above which the breaker opens.
func Threshold(share float64) Option { return Option{threshold, Policy{Threshold: share}} }

// MinSamples sets how many pieces of work the window must hold before the breaker
// can open.
func MinSamples(n int) Option { return Option{minSamples, Policy{MinSamples: n}} }

// Window sets how long an outcome counts.
func Window(d time.Duration) Option { return Option{window, Policy{Window: d}} }

// OpenFor sets how long the breaker stays open before it allows one probe.
func OpenFor(d time.Duration) Option { return Option{openFor, Policy{OpenFor: d}} }

// By makes a breaker for each value of a field of the payload, by its path, such as customer_id. An empty path makes one
// for all.
func By(path string) Option { return Option{by, Policy{By: path}} }

// With returns a copy of p with opts applied in order; p is not changed.
func (p Policy) With(opts ...Option) Policy {
	for _, opt := range opts {
		opt.apply(&p)
	}
	return p
}

func (o Option) apply(p *Policy) {
	switch o.field {
	case off:
		p.Off = o.value.Off
	case threshold:
		p.Threshold = o.value.Threshold
	case minSamples:
		p.MinSamples = o.value.MinSamples
	case window:
		p.Window = o.value.Window
	case openFor:
		p.OpenFor = o.value.OpenFor
	case by:
		p.By = o.value.By
	}
}
