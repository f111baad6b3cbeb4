package parse

import (
	"time"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/runtime/breaker"
)

var (
	breakerKeys   = []string{"threshold", "min_samples", "window", "open_for"}
	windowSpan    = span{least: breaker.LeastWindow, most: breaker.LimitWindow}
	openForSpan   = span{least: breaker.LeastOpenFor, most: breaker.LimitOpenFor}
	thresholdSpan = limits{least: 0, most: 1, below: true}
)

// limitThrottle limits `failure_throttle`. A larger value would have no effect.
const limitThrottle = breaker.LimitSamples

func builtinBreaker() catalog.Breaker {
	p := breaker.Default()
	return catalog.Breaker{
		Off:        catalog.Value[bool]{V: p.Off},
		Threshold:  catalog.Value[float64]{V: p.Threshold},
		MinSamples: catalog.Value[int]{V: p.MinSamples},
		Window:     catalog.Value[time.Duration]{V: p.Window},
		OpenFor:    catalog.Value[time.Duration]{V: p.OpenFor},
	}
}

// breaker reads the thresholds, or the word that switches it off. Thresholds
// switch it on, should it be off where they are inherited.
func (r *Settings) breaker(settings object) catalog.Breaker {
	o, off := r.switchable(settings, "breaker", breakerKeys...)
	b := catalog.Breaker{Off: off}
	b.Threshold = r.fraction(o, "threshold", thresholdSpan)
	if e, ok := o.entries["min_samples"]; ok {
		b.MinSamples = r.count(e, o.what, 1, breaker.LimitSamples, "it counts events")
	}
	b.Window = r.duration(o, "window", windowSpan)
	b.OpenFor = r.duration(o, "open_for", openForSpan)
	return b
}
