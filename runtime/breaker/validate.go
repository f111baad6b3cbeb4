package breaker

import (
	"errors"
	"fmt"
	"time"
)

// The smallest and largest values that a valid [Policy] may hold.
const (
	LimitSamples = 10_000
	LeastWindow  = time.Second
	LimitWindow  = 24 * time.Hour
	LeastOpenFor = time.Millisecond
	LimitOpenFor = 24 * time.Hour
)

// Validate returns nil if p is valid, and otherwise all problems in one error,
// joined as by [errors.Join]. It checks the other fields also if p is Off.
func (p Policy) Validate() error {
	var problems []error
	require := func(ok bool, format string, args ...any) {
		if !ok {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	// NaN fails every comparison, and so this one.
	require(p.Threshold >= 0 && p.Threshold < 1,
		"Threshold is %v: it is the share of failures above which the breaker opens, so it must be at least 0 and less than 1", p.Threshold)
	require(p.MinSamples >= 1 && p.MinSamples <= LimitSamples,
		"MinSamples is %d: it must be between 1 and %d", p.MinSamples, LimitSamples)
	require(p.Window >= LeastWindow && p.Window <= LimitWindow,
		"Window is %v: it must be between %v and %v", p.Window, LeastWindow, LimitWindow)
	require(p.OpenFor >= LeastOpenFor && p.OpenFor <= LimitOpenFor,
		"OpenFor is %v: it must be between %v and %v", p.OpenFor, LeastOpenFor, LimitOpenFor)
	return errors.Join(problems...)
}
