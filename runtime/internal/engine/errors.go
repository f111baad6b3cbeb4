package engine

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// ErrClosed is returned by every method of a closed log.
var ErrClosed = errors.New("the event log is closed")

// ErrMoved is returned by Source.Poll when this process has other parts of the
// subscription than before.
var ErrMoved = errors.New("the deliveries of this subscription have moved between processes")

// ErrRestored says that another state of the log was put in the place of the one
// that was opened. The consumers of the old state have ended: they hand out and record
// nothing.
var ErrRestored = errors.New("a backup was restored into the file while it was in use")

// ErrNotOwner is returned by what only the process that dispatches may do.
var ErrNotOwner = errors.New("this process does not dispatch from the file")

// ErrUnknownConsumer is returned for a durable consumer that does not exist.
var ErrUnknownConsumer = errors.New("the file knows no such subscription")

// AliasError says that a durable consumer and its former name are both wanted, or
// both in the file. Nothing was changed.
type AliasError struct {
	Name, Alias string
	Shared      bool // one was the name of the other in this file, and both are subscribed
}

// Error says what to do.
func (e *AliasError) Error() string {
	if e.Shared {
		return fmt.Sprintf("subscriptions %q and %q are the same one in this bus, which has had both names: "+
			"subscribe to its present name first, so that the other one can become another subscription", e.Alias, e.Name)
	}
	return fmt.Sprintf("subscription %q is to have been called %q before, but the bus has both, each with its own place in the log: "+
		"remove the alias, or the one that nobody needs (busgen subscriptions remove)", e.Name, e.Alias)
}

// SchemaError says that the bus has events of a type and version with another payload than the
// catalogue of the program. Nothing was changed.
type SchemaError struct {
	Event    string
	Version  int
	Problem  string    // in words
	Program  string    // that has stored the other schema
	StoredAt time.Time // when; UTC
}

// Error says what to do.
func (e *SchemaError) Error() string {
	return fmt.Sprintf("there are events %s, version %d, whose payload is not that of the catalogue of this program: %s; %s has stored it on %s. "+
		"Give the new payload a higher version, and keep the stored one under history; if these are two events, call one of them otherwise",
		e.Event, e.Version, e.Problem, cmp.Or(e.Program, "a program"), e.StoredAt.Format(time.DateOnly))
}

// ConflictError says that an idempotency key was used before for another
// payload. Nothing was stored.
type ConflictError struct {
	EventType string
	Key       string
	First     uuid.UUID // the event that was stored with the key
}

// Error names the key and the first event.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("the idempotency key %q was used before for another %s (event %s): a key stands for one payload, until that event is cancelled or a dead letter of it is discarded", e.Key, e.EventType, e.First)
}

// Fault is a class of storage failure: what a caller can do about it.
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

// StorageError says that the log could not be read or written. Nothing of
// the operation that returned it was stored, with the one exception of InDoubt.
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

// ErrOwned matches every *OwnedError.
var ErrOwned = errors.New("another process is dispatching from this file")

// OwnedError says that another process, or another bus of this one,
// dispatches from the log.
type OwnedError struct {
	Path  string    // the file, or the target that the bus was opened with
	PID   int       // 0 if the owner has not said yet
	Since time.Time // zero if the owner has not said yet
}

// Error names the owner.
func (e *OwnedError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("%s: another process is dispatching from this file", e.Path)
	}
	return fmt.Sprintf("%s: process %d is dispatching from this file since %s", e.Path, e.PID, e.Since.Format(time.RFC3339))
}

// Is makes the error match ErrOwned.
func (e *OwnedError) Is(target error) bool { return target == ErrOwned }
