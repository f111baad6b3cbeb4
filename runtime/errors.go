package runtime

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/gen/checks"
	"github.com/busgen/busgen/runtime/internal/dispatch/errs"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/guard"
)

// ErrShutdown is returned by the methods of a bus, its subscriptions and its receipts,
// and by Publish and Subscribe, once [Bus.Shutdown] was called. It is also the cause of
// the cancellation ([context.Cause]) that a handler sees when a shutdown stops waiting
// for it.
var ErrShutdown = errs.ErrShutdown

// ErrAttemptOver is returned when a handler publishes through its context after
// its attempt was decided: it had timed out, or had returned. The event is not
// stored.
var ErrAttemptOver = errs.ErrOver

// ErrInsideHandler is returned by [Bus.Shutdown], [Subscription.Unsubscribe] and
// [Bus.WaitIdle] if they would wait for the handler that calls them. Nothing was done.
// Call them on another goroutine and let the handler return.
var ErrInsideHandler = errors.New("this is called inside a handler, and would wait for the handler to return: call it on another goroutine")

// ErrStaged is returned by [Receipt.Wait] for an event that a handler has
// published with its context. It is stored when the handler succeeds, so
// waiting for it inside the handler would never end. Publish it with [Immediately].
var ErrStaged = errors.New("the event is stored when the handler that published it succeeds, so it cannot be waited for: " +
	"publish it with Immediately to wait for it in the handler")

// TimeoutError is the failure of an attempt that outlived its deadline. It
// matches [context.DeadlineExceeded].
//
//	type TimeoutError struct {
//		After   time.Duration // the timeout
//		Attempt int           // which attempt it was, 1 for the first
//	}
type TimeoutError = errs.TimeoutError

// ExpiredError is the failure of an attempt whose event expired while it ran
// ([declare.Settings].ExpiresAfter). It matches [context.DeadlineExceeded].
//
//	type ExpiredError struct{ After time.Duration }
type ExpiredError = errs.ExpiredError

// PanicError says that code of the program, such as the Validate method of a
// payload, has panicked when the bus called it.
type PanicError struct {
	Text  string // what the panic was about
	Stack string // of the goroutine
}

// newPanicError is for the goroutine that has panicked.
func newPanicError(cause any) *PanicError {
	return &PanicError{Text: guard.PanicText(cause), Stack: string(debug.Stack())}
}

// Error says what the panic was about.
func (e *PanicError) Error() string { return "panic: " + e.Text }

// InvalidPayloadError says that a payload was refused before anything was
// stored. Err is a *[ValidationError], what encoding it as JSON has returned, or a
// *[PanicError] if its methods panic.
type InvalidPayloadError struct {
	EventType string
	Index     int // in a batch; 0 otherwise
	Err       error
}

// Error names the event type and lists what is wrong.
func (e *InvalidPayloadError) Error() string {
	if e.Index > 0 {
		return fmt.Sprintf("payload %d of the batch is not a valid %s: %v", e.Index, e.EventType, e.Err)
	}
	return fmt.Sprintf("the payload is not a valid %s: %v", e.EventType, e.Err)
}

// Unwrap returns the cause.
func (e *InvalidPayloadError) Unwrap() error { return e.Err }

// PayloadTooLargeError says that a payload or its metadata is over the limit
// of the bus. Nothing was stored.
type PayloadTooLargeError struct {
	EventType string
	What      string // payload, metadata, or batch for all payloads of one together
	Size      int    // bytes, as JSON
	Limit     int    // bytes
}

// Error names both sizes.
func (e *PayloadTooLargeError) Error() string {
	if e.What == "batch" {
		return fmt.Sprintf("the payloads of this batch of %s have %d bytes, the limit is %d: publish it in parts", e.EventType, e.Size, e.Limit)
	}
	return fmt.Sprintf("the %s of this %s has %d bytes, the limit is %d: store large data elsewhere and publish a reference to it",
		e.What, e.EventType, e.Size, e.Limit)
}

// UnknownTypeError says that an event type is not in the catalogue the bus was
// opened with.
type UnknownTypeError struct{ EventType string }

// Error says what to do.
func (e *UnknownTypeError) Error() string {
	return fmt.Sprintf("event type %s is not in the catalogue of this bus: open the bus with the package that declares it", e.EventType)
}

// OptionError says which option of a call is not valid. Nothing was done.
type OptionError struct {
	Option  string // its name, such as WithPublishAt, or its position: option 2
	Problem string
}

// Error names the option.
func (e *OptionError) Error() string { return e.Option + ": " + e.Problem }

// nilOption is the error for the i-th option of a call, from 0, if it is nil.
func nilOption(i int) error {
	return &OptionError{Option: fmt.Sprintf("option %d", i+1), Problem: "it is nil: leave it out"}
}

// SubscribeError says why a subscription was refused.
type SubscribeError struct {
	Subscription string
	Problem      string
	Err          error // an *[OptionError], or nil
}

// Error names the subscription.
func (e *SubscribeError) Error() string {
	return fmt.Sprintf("subscription %q: %s", e.Subscription, e.Problem)
}

// Unwrap returns the cause, if there is one.
func (e *SubscribeError) Unwrap() error { return e.Err }

// public turns errors of the engine into those of this package.
func public(err error) error {
	if errors.Is(err, engine.ErrClosed) {
		return ErrShutdown
	}
	return err
}

// ValidationError lists everything that is wrong with a payload. Each of its Problems is a [checks.Problem], with the
// Path of the field, such as lines[2].price.currency, and a Message for a person. Generated Validate methods return it,
// as a pointer; those of custom types may. Its Error method joins the problems with semicolons.
type ValidationError = checks.ValidationError

// refusals counts events that were not published, by reason.
type refusals struct {
	mu sync.Mutex
	by map[string]uint64
}

// refused counts n events that a program wanted to publish, unless the call has succeeded, and returns the error.
func refused(to Publisher, n int, err error) error {
	if err == nil {
		return nil
	}
	if bus, _, missing := targetOf(to); missing == nil {
		bus.refusals.add(n, err)
	}
	return err
}

// add counts n events.
func (r *refusals) add(n int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.by == nil {
		r.by = map[string]uint64{}
	}
	r.by[refusalOf(err)] += uint64(n)
}

// refusalReasons are what refusalOf returns, but for faults of the storage.
var refusalReasons = []string{"attempt_over", "cancelled", "conflict", "hop_limit", "invalid", "metadata", "middleware", "option", "other", "pending", "shutdown", "too_large", "unknown_type"}

// refusalOf names why an event was not stored.
func refusalOf(err error) string {
	if stored, ok := errors.AsType[*event.StorageError](err); ok {
		return refusalFault(stored.Fault)
	}
	is := func(reason string, found bool) string {
		if found {
			return reason
		}
		return ""
	}
	for _, reason := range []string{
		is("middleware", as[*RefusedError](err)), is("invalid", as[*InvalidPayloadError](err)), is("too_large", as[*PayloadTooLargeError](err)),
		is("metadata", as[*HeaderError](err)), is("option", as[*OptionError](err)), is("conflict", as[*event.ConflictError](err)),
		is("unknown_type", as[*UnknownTypeError](err)), is("pending", as[*PendingError](err)), is("hop_limit", as[*HopLimitError](err)),
		is("attempt_over", errors.Is(err, ErrAttemptOver)), is("shutdown", errors.Is(err, ErrShutdown)),
		is("cancelled", errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)),
	} {
		if reason != "" {
			return reason
		}
	}
	return "other"
}

func as[E error](err error) bool {
	_, is := errors.AsType[E](err)
	return is
}

// refusalFault is the reason that stands for a fault: disk_full.
func refusalFault(f event.Fault) string {
	return strings.NewReplacer(" ", "_", "/", "_", "-", "_").Replace(string(f))
}

// snapshot returns the counts of all reasons; those of faults of the storage once they have happened.
func (r *refusals) snapshot() map[string]uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := map[string]uint64{refusalFault(event.DiskFull): 0, refusalFault(event.Busy): 0}
	for _, reason := range refusalReasons {
		all[reason] = 0
	}
	for reason, n := range r.by {
		all[reason] = n
	}
	return all
}
