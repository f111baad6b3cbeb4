package event

import (
	"time"
)

// FailedAttempt is an execution of a handler that has failed, as the log keeps it.
type FailedAttempt struct {
	Kind      string    `json:"kind"`                 // one of the Kind constants: error, panic, goexit, timeout, decode, crash or interrupted
	Started   time.Time `json:"started_at,omitzero"`  // UTC; zero for a crash
	Ended     time.Time `json:"ended_at"`             // UTC; of a crash: when it was noticed
	Error     string    `json:"error"`                // its text
	ErrorType string    `json:"error_type,omitempty"` // the Go type of the error, with a code that it says of itself: *fs.PathError, *exec.ExitError(137)
	Member    string    `json:"member,omitempty"`     // of a group of handlers: the one that failed
	Stack     string    `json:"stack,omitempty"`      // of a panic or goexit
	Log       string    `json:"log,omitempty"`        // the last lines that the handler wrote to the event's logger
}

// How an attempt failed.
const (
	KindError   = "error"   // the handler returned an error
	KindPanic   = "panic"   // the handler panicked
	KindExit    = "goexit"  // the handler ended its goroutine
	KindTimeout = "timeout" // the handler outlived its deadline
	KindDecode  = "decode"  // the payload could not be decoded
	KindCrash   = "crash"   // the process died while the handler ran

	// KindInterrupted: a shutdown cancelled the handler's context, and the handler
	// did not return.
	KindInterrupted = "interrupted"
)
