package retry

import (
	"fmt"
	"strings"
)

// Backoff says how the waits between executions grow.
type Backoff uint8

// The backoffs. With BaseDelay b and Multiplier m, the wait before execution n ≥ 2
// is the formula behind each, capped at MaxDelay. The first execution never waits.
const (
	Exponential Backoff = iota // b · m^(n-2); the zero value and the default
	Linear                     // b · (n-1)
	Constant                   // b
	None                       // 0: retry at once. To not retry at all, use MaxAttempts 1.
)

var backoffNames = [...]string{"exponential", "linear", "constant", "none"}

// String returns the name that a catalogue uses: exponential, linear,
// constant or none.
func (b Backoff) String() string {
	if int(b) < len(backoffNames) {
		return backoffNames[b]
	}
	return fmt.Sprintf("Backoff(%d)", uint8(b))
}

// BackoffNames lists the names that [ParseBackoff] takes, the default first.
func BackoffNames() []string { return append([]string(nil), backoffNames[:]...) }

// ParseBackoff returns the backoff with the given name, in lower case. The error
// lists the names.
func ParseBackoff(name string) (Backoff, error) {
	for i, known := range backoffNames {
		if name == known {
			return Backoff(i), nil
		}
	}
	return 0, fmt.Errorf("unknown backoff %q: use %s", name, strings.Join(backoffNames[:], ", "))
}
