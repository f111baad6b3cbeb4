package breaker

import (
	"fmt"
	"time"
)

// State says whether a [Breaker] gives permits.
type State uint8

// The states.
const (
	Closed   State = iota // everyone gets a permit; the zero value and the first state
	Open                  // nobody does, until Status.Until has come
	HalfOpen              // one does, and whether it succeeds decides
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
	// Until is when an open breaker allows a probe. It may have passed: the
	// breaker stays open until someone asks for a permit. Zero in the other
	// states.
	Until time.Time
	// Samples is how many pieces of work have an outcome in the window, and
	// Failures for how many of them the latest is a failure. A probe that fails
	// is one of them.
	Samples, Failures int
	// LastFailure is why the last one failed, as [Permit.Failure] was told.
	// Empty if none has failed since the breaker was closed.
	LastFailure string
}
