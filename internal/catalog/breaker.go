package catalog

import (
	"time"

	"github.com/busgen/busgen/runtime/breaker"
)

var (
	breakerKeys   = []string{"threshold", "min_samples", "window", "open_for"}
	windowSpan    = span{least: breaker.LeastWindow, most: breaker.LimitWindow}
	openForSpan   = span{least: breaker.LeastOpenFor, most: breaker.LimitOpenFor}
	thresholdSpan = limits{least: 0, most: 1, below: true}
)

// limitThrottle is the largest failure throttle. Nobody can tell a larger one from off.
const limitThrottle = breaker.LimitSamples

func builtinBreaker() Breaker {
	p := breaker.Default()
	return Breaker{
		Off:        Value[bool]{V: p.Off},
		Threshold:  Value[float64]{V: p.Threshold},
		MinSamples: Value[int]{V: p.MinSamples},
		Window:     Value[time.Duration]{V: p.Window},
		OpenFor:    Value[time.Duration]{V: p.OpenFor},
	}
}

func (b Breaker) overlay(over Breaker) Breaker {
	replace(&b.Off, over.Off)
	replace(&b.Threshold, over.Threshold)
	replace(&b.MinSamples, over.MinSamples)
	replace(&b.Window, over.Window)
	replace(&b.OpenFor, over.OpenFor)
	return b
}

// breaker reads the thresholds, or the word that switches it off. Thresholds
// switch it on, should it be off where they are inherited.
func (r *reader) breaker(settings object) Breaker {
	o, off := r.switchable(settings, "breaker", breakerKeys...)
	b := Breaker{Off: off}
	b.Threshold = r.fraction(o, "threshold", thresholdSpan)
	if e, ok := o.entries["min_samples"]; ok {
		b.MinSamples = r.count(e, o.what, 1, breaker.LimitSamples, "it counts events")
	}
	b.Window = r.duration(o, "window", windowSpan)
	b.OpenFor = r.duration(o, "open_for", openForSpan)
	return b
}
