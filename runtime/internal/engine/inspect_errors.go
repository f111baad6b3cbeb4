package engine

import (
	"fmt"
	"strings"

	"github.com/google/uuid"
)

// NotFoundError says that the log has no such thing.
type NotFoundError struct {
	Thing string   // event, subscription, pause, open circuit breaker, dead letter
	Name  string   // what was asked for
	Known []string // the names there are, of a subscription, a pause or a breaker
	Key   Key      // of a dead letter
	State string   // of a dead letter: what is known of the delivery, in words
}

// Is makes the error for a subscription match ErrUnknownConsumer.
func (e *NotFoundError) Is(target error) bool {
	return target == ErrUnknownConsumer && e.Thing == "subscription"
}

// Error lists the known names, if they are not too many, or says what became of a
// dead letter.
func (e *NotFoundError) Error() string {
	const shown = 10
	if e.State != "" {
		return fmt.Sprintf("event %s is not dead for subscription %q: %s", e.Key.EventID, e.Key.Subscription, e.State)
	}
	text := fmt.Sprintf("there is no %s %s in this bus", e.Thing, e.Name)
	if e.Thing == "event" {
		return text + ": it was never published to it, or was pruned since"
	}
	switch n := len(e.Known); {
	case n == 0:
		return text + ", and no other"
	case n <= shown:
		return text + ": it has " + strings.Join(e.Known, ", ")
	default:
		return fmt.Sprintf("%s: it has %s and %d more", text, strings.Join(e.Known[:shown], ", "), n-shown)
	}
}

// NotOpenError says that an event has no delivery that could be discarded.
type NotOpenError struct {
	Event  uuid.UUID
	States []string // of its deliveries: charge-card dead
}

// Error says which states the deliveries have instead.
func (e *NotOpenError) Error() string {
	states := strings.Join(e.States, ", ")
	if states == "" {
		states = "it is for no such subscription"
	}
	return fmt.Sprintf("event %s has no open delivery: %s", e.Event, states)
}

// ImportError says which line of an import could not be added. The lines before it
// were added; once the line is repaired, all of them can be imported again.
type ImportError struct {
	Line int // from 1
	Err  error
}

// Error names the line.
func (e *ImportError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns what is wrong with the line.
func (e *ImportError) Unwrap() error { return e.Err }
