package retry

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
	maxAttempts
	backoff
	baseDelay
	maxDelay
	multiplier
	jitter
)

// MaxAttempts sets how often a handler may run for one event, the first time included.
func MaxAttempts(n int) Option { return Option{maxAttempts, Policy{MaxAttempts: n}} }

// WithBackoff sets how the waits grow.
func WithBackoff(b Backoff) Option { return Option{backoff, Policy{Backoff: b}} }

// BaseDelay sets the nominal wait before the second execution.
func BaseDelay(d time.Duration) Option { return Option{baseDelay, Policy{BaseDelay: d}} }

// MaxDelay sets the cap of every wait.
func MaxDelay(d time.Duration) Option { return Option{maxDelay, Policy{MaxDelay: d}} }

// Multiplier sets the growth per execution of an exponential backoff.
func Multiplier(m float64) Option { return Option{multiplier, Policy{Multiplier: m}} }

// Jitter sets the fraction by which a wait may be shorter or longer.
func Jitter(j float64) Option { return Option{jitter, Policy{Jitter: j}} }

// With returns a copy of p with opts applied in order; p is not changed.
func (p Policy) With(opts ...Option) Policy {
	for _, opt := range opts {
		opt.apply(&p)
	}
	return p
}

func (o Option) apply(p *Policy) {
	switch o.field {
	case maxAttempts:
		p.MaxAttempts = o.value.MaxAttempts
	case backoff:
		p.Backoff = o.value.Backoff
	case baseDelay:
		p.BaseDelay = o.value.BaseDelay
	case maxDelay:
		p.MaxDelay = o.value.MaxDelay
	case multiplier:
		p.Multiplier = o.value.Multiplier
	case jitter:
		p.Jitter = o.value.Jitter
	}
}

// MostPermissive returns p with the overrides of several handlers that share one
// delivery. If one of them sets a field, its value counts. If several set it, the
// most permissive value counts: the most attempts, the shortest base delay, the
// highest MaxDelay, Multiplier and Jitter, and the backoff of the first. A field
// that none sets keeps the value of p. A lower value than that of p counts, too.
func (p Policy) MostPermissive(overrides ...[]Option) Policy {
	var set [jitter + 1]bool
	merged := p
	for _, opts := range overrides {
		one := p.With(opts...)
		for f := range fieldsOf(opts) {
			if !set[f] {
				set[f] = true
				Option{f, one}.apply(&merged)
				continue
			}
			switch f {
			case maxAttempts:
				merged.MaxAttempts = max(merged.MaxAttempts, one.MaxAttempts)
			case baseDelay:
				merged.BaseDelay = min(merged.BaseDelay, one.BaseDelay)
			case maxDelay:
				merged.MaxDelay = max(merged.MaxDelay, one.MaxDelay)
			case multiplier:
				merged.Multiplier = max(merged.Multiplier, one.Multiplier)
			case jitter:
				merged.Jitter = max(merged.Jitter, one.Jitter)
			}
		}
	}
	return merged
}

// fieldsOf returns the fields that opts set.
func fieldsOf(opts []Option) map[field]bool {
	fields := map[field]bool{}
	for _, opt := range opts {
		if opt.field != 0 {
			fields[opt.field] = true
		}
	}
	return fields
}
