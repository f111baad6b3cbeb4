package event

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
)

// BegunError says that an event was not cancelled completely, because handlers run.
type BegunError struct {
	ID        uuid.UUID // of the event
	Running   []string  // the subscriptions whose handlers run; they are not tried again if they fail
	Cancelled []string  // the subscriptions for which the event was cancelled
}

// Error names the subscriptions.
func (e *BegunError) Error() string {
	text := fmt.Sprintf("event %s is being handled by %s, which goes on and is not tried again if it fails", e.ID, strings.Join(e.Running, ", "))
	if len(e.Cancelled) > 0 {
		text += "; it is cancelled for " + strings.Join(e.Cancelled, ", ")
	}
	return text
}

// UnansweredError is returned by inspect.File.CancelEvent if it is unknown whether a handler of
// the event runs. The event is cancelled: no handler is called for it once the process that
// dispatches looks at the file again.
type UnansweredError struct {
	ID     uuid.UUID // of the event
	PID    int       // of the process that dispatches
	Waited time.Duration
	Err    error // why the caller did not wait for longer; nil if the time for an answer is over
}

// Error says what to do.
func (e *UnansweredError) Error() string {
	why := ""
	if e.Err != nil {
		why = ": " + e.Err.Error()
	}
	return fmt.Sprintf("event %s is cancelled, but process %d has not said within %v whether it is being handled%s; "+
		"perhaps the process hangs: look at what becomes of the event", e.ID, e.PID, e.Waited.Round(time.Millisecond), why)
}

// Unwrap returns why the caller did not wait for longer.
func (e *UnansweredError) Unwrap() error { return e.Err }

// UnsupportedError says that the engine of the log cannot do something that others can. It
// matches [errors.ErrUnsupported].
type UnsupportedError struct {
	Engine string // in words: the engine on JetStream
	What   string // erase a person
	Hint   string // what to do instead
}

// Error says so.
func (e *UnsupportedError) Error() string {
	text := e.Engine + " cannot " + e.What
	if e.Hint != "" {
		text += ": " + e.Hint
	}
	return text
}

// Is reports that the error is [errors.ErrUnsupported].
func (e *UnsupportedError) Is(target error) bool { return target == errors.ErrUnsupported }

// ErrUnknownSubscription matches the error for a subscription that the file does not know.
var ErrUnknownSubscription = errors.New("the file knows no such subscription")

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

// ConflictError says that a dedupe key was used before for another payload.
// Nothing was stored. To publish a corrected payload with the key of a dead letter, discard the dead letter first.
type ConflictError struct {
	EventType string
	Key       string
	First     uuid.UUID // the event that was stored with the key
}

// Error names the key and the first event.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("the idempotency key %q was used before for another %s (event %s): a key stands for one payload, until that event is cancelled or a dead letter of it is discarded", e.Key, e.EventType, e.First)
}

// ErrAlreadyRunning matches the error of Start when another process, or another bus of this one, dispatches from the
// file. The error itself is an *[OwnedError] that names it.
var ErrAlreadyRunning = errors.New("another process is dispatching from this file")

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

// Is makes the error match [ErrAlreadyRunning].
func (e *OwnedError) Is(target error) bool { return target == ErrAlreadyRunning }

// NotFoundError says that the file has no such event, subscription, pause, open
// circuit breaker or dead letter. Of a dead letter, State says what became of it: it
// was retried, discarded or purged, or there never was one.
type NotFoundError struct {
	Thing string   // event, subscription, pause, open circuit breaker, dead letter
	Name  string   // what was asked for
	Known []string // the names there are, of a subscription, a pause or a breaker
	Key   Key      // of a dead letter
	State string   // of a dead letter: what is known of the delivery, in words
}

// Is makes the error for a subscription match [ErrUnknownSubscription].
func (e *NotFoundError) Is(target error) bool {
	return target == ErrUnknownSubscription && e.Thing == "subscription"
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

// NotOpenError is returned by runtime.Bus.Cancel for an event without an open delivery.
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

// ImportError says which line inspect.File.Import could not take. The lines before it are
// in the file; once the line is repaired, all of them can be imported again.
type ImportError struct {
	Line int // from 1
	Err  error
}

// Error names the line.
func (e *ImportError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns what is wrong with the line.
func (e *ImportError) Unwrap() error { return e.Err }

// JoinError says why events cannot become part of the transaction that runtime.In was given. Nothing
// was written.
type JoinError struct {
	Problem string // in words, and what to do
}

// Error says what is wrong.
func (e *JoinError) Error() string { return "publish in a transaction of the program: " + e.Problem }

// ProtectedError says that a statement of a runtime.Tx was refused, because it would change tables
// of the bus, or the transaction that others share.
type ProtectedError struct {
	Problem string // in words, and what to do
}

// Error says what is wrong.
func (e *ProtectedError) Error() string { return e.Problem }

// TxTimeoutError says that a function of runtime.Transact took longer than runtime.WithTxLimit allows, and
// that nothing of it is stored. It matches [context.DeadlineExceeded].
type TxTimeoutError struct {
	Limit time.Duration
}

// Error says how long the function may take.
func (e *TxTimeoutError) Error() string {
	return fmt.Sprintf("the function of the transaction did not return within %v, so nothing of it is stored: "+
		"everybody who writes waits for it, so compute, and call others, before the transaction", e.Limit)
}

// Is makes the error match [context.DeadlineExceeded].
func (e *TxTimeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// ErrRestored is returned by runtime.Receipt.Wait when a backup is restored into the file: the
// event may not be in the backup. The bus goes on with the restored events.
var ErrRestored = errors.New("a backup was restored into the file while it was in use")
