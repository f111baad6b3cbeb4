package inspect

import (
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
)

var (
	// ErrClosed is returned by a [File] that was closed.
	ErrClosed = engine.ErrClosed

	// ErrEditingDisabled is returned by [File.Edit] unless the file was opened
	// [WithEditing].
	ErrEditingDisabled = errors.New("editing payloads is not enabled: open the file WithEditing and a check of payloads")

	// ErrNobodyDispatches is returned by [File.CloseBreaker] if no process dispatches
	// from the file.
	ErrNobodyDispatches = errors.New("no process dispatches from this bus")
)

// AmbiguousError says that the ids of several events begin with a prefix.
type AmbiguousError struct {
	Prefix string
	IDs    []uuid.UUID // some of them
	More   bool        // there are more
}

// Error lists them.
func (e *AmbiguousError) Error() string {
	ids := make([]string, len(e.IDs))
	for i, id := range e.IDs {
		ids[i] = id.String()
	}
	text := fmt.Sprintf("several events begin with %s: %s", e.Prefix, strings.Join(ids, ", "))
	if e.More {
		text += " and more"
	}
	return text
}

// CanaryError says that [File.Retry] has stopped at its canary: some of the dead
// letters that it retried first died again, or there was none that it could retry
// first, because the process ended in the last attempt of each. All others are as they
// were.
type CanaryError struct {
	Matched int         // how many dead letters match
	Retried int         // how many were retried first; 0 if there was none to retry first
	Failed  []event.Key // which of them died again
}

// Error names the dead letters that died again, or the first few of them.
func (e *CanaryError) Error() string {
	if e.Retried == 0 {
		return fmt.Sprintf("none of the %d dead letters can be the canary: the process ended in their last attempts, "+
			"and may end again; to retry them, choose the reason crash", e.Matched)
	}
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

// InvalidPayloadError says that [File.Edit] has refused a payload. Nothing was
// changed.
type InvalidPayloadError struct {
	Key       event.Key
	EventType string
	Err       error // of the check that the file was opened with
}

// Error says what is wrong with the payload.
func (e *InvalidPayloadError) Error() string {
	return fmt.Sprintf("dead letter %s was not edited: %v", e.Key, e.Err)
}

// Unwrap returns the error of the check.
func (e *InvalidPayloadError) Unwrap() error { return e.Err }
