package retry

import "time"

// An Option changes one field of a [Policy] and leaves the others as they
// were inherited. Options do not check their values: [Policy.Validate] does.
type Option func(*Policy)

// MaxAttempts sets how often a handler may run for one event, the first time included.
func MaxAttempts(n int) Option { return func(p *Policy) { p.MaxAttempts = n } }

// WithBackoff sets how the waits grow.
func WithBackoff(b Backoff) Option { return func(p *Policy) { p.Backoff = b } }

// BaseDelay sets the nominal wait before the second execution.
func BaseDelay(d time.Duration) Option { return func(p *Policy) { p.BaseDelay = d } }

// MaxDelay sets the cap of every wait.
func MaxDelay(d time.Duration) Option { return func(p *Policy) { p.MaxDelay = d } }

// Multiplier sets the growth per execution of an exponential backoff.
func Multiplier(m float64) Option { return func(p *Policy) { p.Multiplier = m } }

// Jitter sets the fraction by which a wait may be shorter or longer.
func Jitter(j float64) Option { return func(p *Policy) { p.Jitter = j } }

// With returns a copy of p with opts applied in order; p is not changed.
func (p Policy) With(opts ...Option) Policy {
	for _, opt := range opts {
		opt(&p)
	}
	return p
}
