package retry

import (
	"errors"
	"fmt"
	"time"
)

// The largest values that a valid [Policy] may hold.
const (
	LimitAttempts   = 1000
	LimitDelay      = 30 * 24 * time.Hour
	LimitMultiplier = 1000.0
	LimitJitter     = 0.5
)

// Validate returns nil if p is valid, and otherwise all problems in one error,
// joined as by [errors.Join]. A BaseDelay above MaxDelay is a problem too, because
// it would silently be cut to MaxDelay, unless Backoff is None.
func (p Policy) Validate() error {
	var problems []error
	require := func(ok bool, format string, args ...any) {
		if !ok {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	require(p.MaxAttempts >= 1 && p.MaxAttempts <= LimitAttempts,
		"MaxAttempts is %d: it counts executions including the first, so it must be between 1 and %d", p.MaxAttempts, LimitAttempts)
	require(int(p.Backoff) < len(backoffNames),
		"Backoff is %v: use Exponential, Linear, Constant or None", p.Backoff)
	require(p.BaseDelay >= 0 && p.BaseDelay <= LimitDelay,
		"BaseDelay is %v: it must be between 0 and %v", p.BaseDelay, LimitDelay)
	require(p.MaxDelay >= 0 && p.MaxDelay <= LimitDelay,
		"MaxDelay is %v: it must be between 0 and %v", p.MaxDelay, LimitDelay)
	require(p.Backoff == None || p.BaseDelay <= p.MaxDelay,
		"BaseDelay %v is longer than MaxDelay %v: raise MaxDelay or lower BaseDelay", p.BaseDelay, p.MaxDelay)
	// NaN fails every comparison, and so these two.
	require(p.Multiplier >= 1 && p.Multiplier <= LimitMultiplier,
		"Multiplier is %v: it must be between 1 and %v", p.Multiplier, LimitMultiplier)
	require(p.Jitter >= 0 && p.Jitter <= LimitJitter,
		"Jitter is %v: it is a fraction of the delay and must be between 0 and %v", p.Jitter, LimitJitter)
	return errors.Join(problems...)
}
