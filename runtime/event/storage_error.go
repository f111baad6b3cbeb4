package event

import (
	"fmt"
)

// Fault is the class of a [StorageError]: what a program can do about it.
type Fault string

// The faults.
const (
	DiskFull Fault = "disk full"
	Busy     Fault = "busy"
	Corrupt  Fault = "corrupt"
	ReadOnly Fault = "read-only"
	Foreign  Fault = "not an event log"
	TooNew   Fault = "newer than this program"
	TooOld   Fault = "older than this program"
	Replaced Fault = "no longer the file that was opened"
	// Incomplete: the file is missing or empty, and what lies beside it is not.
	Incomplete Fault = "incomplete"
	Linked     Fault = "more than one name"
	// MovedAway: the events are on another bus.
	MovedAway Fault = "moved to another bus"
	// Unreachable: the server that keeps the log does not answer.
	Unreachable Fault = "unreachable"
	IO          Fault = "input/output error"
)

// StorageError says that the event log could not be read or written, why (Fault),
// and what to do about it. Path is the file or, with another engine, what runtime.Open was
// called with. Nothing of the operation was stored, unless it is
// InDoubt.
type StorageError struct {
	Fault Fault  // the class, for programs
	Op    string // what was being done: "open", "append", "read"
	Path  string // the file; with another engine, the target that the bus was opened with
	Hint  string // what to do, for a person
	Err   error  // the cause, where there is one
	// InDoubt says that the disk, or the connection to a server, failed in the middle
	// of a commit and has not recovered. What is stored of the operation is taken away
	// before anything else is written. If the process ends before that, the operation
	// may turn out to be stored after all.
	InDoubt bool
}

// Error says what failed, on which log, why, and what to do.
func (e *StorageError) Error() string {
	text := fmt.Sprintf("%s %s: %s", e.Op, e.Path, e.Fault)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	return text
}

// Unwrap returns the cause.
func (e *StorageError) Unwrap() error { return e.Err }
