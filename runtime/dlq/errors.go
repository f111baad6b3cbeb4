package dlq

import (
	"errors"
	"fmt"
	"strings"
)

// ErrClosed is returned by an [Inspector] that was closed.
var ErrClosed = errors.New("the inspector is closed")

// ErrEditingDisabled is returned by [Inspector.Edit] unless the inspector was
// opened [WithEditing].
var ErrEditingDisabled = errors.New("editing payloads is not enabled: open the inspector with WithEditing and a check of payloads")

// NotFoundError says that there is no such dead letter: there never was, or it
// was retried, discarded or purged meanwhile.
type NotFoundError struct {
	Key   Key
	State string // what is known of the delivery, in words
}

// Error names the event and the subscription.
func (e *NotFoundError) Error() string {
	return fmt.Sprintf("event %s is not dead for subscription %q: %s", e.Key.EventID, e.Key.Subscription, e.State)
}

// CanaryError says that of the letters that were retried first, some died
// again, and that no others were retried.
type CanaryError struct {
	Retried int   // how many were retried
	Failed  []Key // which of them died again
}

// Error names those that died again, or the first few of them.
func (e *CanaryError) Error() string {
	const named = 5
	var names []string
	for _, key := range e.Failed[:min(named, len(e.Failed))] {
		names = append(names, key.String())
	}
	if more := len(e.Failed) - named; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf("of the %d dead letters retried first, %d died again, and all others were left as they are: %s",
		e.Retried, len(e.Failed), strings.Join(names, ", "))
}

// NoCanaryError says that there was no dead letter to retry first: in the last
// attempt of all that match, the process ended. Nothing was retried.
type NoCanaryError struct {
	Matched int // how many dead letters match
}

// Error says how to try one all the same.
func (e *NoCanaryError) Error() string {
	return fmt.Sprintf("none of the %d dead letters can be tried first: in their last attempts the process has ended, "+
		"and it may end again; choose those of reason crash if that is meant", e.Matched)
}

// InvalidPayloadError says that the new payload of an [Inspector.Edit] was
// refused. Nothing was changed.
type InvalidPayloadError struct {
	Key       Key
	EventType string
	Err       error // of the check that the inspector was opened with
}

// Error says what is wrong with the payload.
func (e *InvalidPayloadError) Error() string {
	return fmt.Sprintf("dead letter %s was not edited: %v", e.Key, e.Err)
}

// Unwrap returns the error of the check.
func (e *InvalidPayloadError) Unwrap() error { return e.Err }

// ImportError says which line [Inspector.Import] could not take. The lines
// before it are in the file; once it is repaired, all of them can be imported
// again.
type ImportError struct {
	Line int // from 1
	Err  error
}

// Error names the line.
func (e *ImportError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns what is wrong with the line.
func (e *ImportError) Unwrap() error { return e.Err }
