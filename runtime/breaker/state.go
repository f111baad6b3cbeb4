package breaker

import (
	"fmt"
	"time"
)

// State says whether a [Breaker] gives permits.
type State uint8

// The states.
const (
	Closed   State = iota // Acquire gives permits; the zero value and the first state
	Open                  // Acquire refuses until Status.Until
	HalfOpen              // Acquire gives one permit, for a probe whose outcome closes or opens the breaker
)

var stateNames = [...]string{"closed", "open", "half-open"}

// String returns closed, open or half-open.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return fmt.Sprintf("State(%d)", uint8(s))
}

// Status is a [Breaker] at one moment. Statuses are plain values.
type Status struct {
	State State
	// Since is when it opened. Probes that fail do not change it. Zero while it
	// is closed.
	Since time.Time
	// Until is when an open breaker allows a probe. It may lie in the past: the
	// breaker stays open until the next call of Acquire. Zero in the other states.
	Until time.Time
	// Samples is how many pieces of work have an outcome in the window. Failures
	// is how many of them failed at their latest attempt. Failed probes count.
	Samples, Failures int
	// LastFailure is the reason given with the last [Permit.Failure]. Empty if there
	// was no failure since the breaker closed.
	LastFailure string
}
