package errs

import "reflect"

// HandlerError is the last error of a dead letter, for those who wait for its event. It has the
// text that is stored. [errors.Is] and [errors.As] find in it what the handler has returned. But
// for a handler that returns it, it is an error like any other: what the other handler has asked for
// ([Permanent], [RetryAfter], [Snooze] and so on) does not count, and rules for classes of errors
// do not look into it.
type HandlerError struct {
	Text string
	// Known says that this process has the error that the handler has returned. If not, there is only
	// the text: another process has handled the event, or an earlier life of this one; more than 1024
	// other events have died since; or the methods of the error panic.
	Known bool

	cause error
}

// NewHandlerError returns the error for a text that is stored, and the error that it is of: nil if that
// is not known.
func NewHandlerError(text string, cause error) *HandlerError {
	return &HandlerError{Text: text, Known: cause != nil, cause: bare(cause)}
}

// bare returns an error without what its handler has asked for by it.
func bare(err error) error {
	switch asked := err.(type) {
	case *PermanentError:
		return bare(asked.Err)
	case *RetryAfterError:
		return bare(asked.Err)
	case *SnoozeError, *DiscardError, *AnsweredError: // nothing of the program's is in them
		return nil
	}
	return err
}

// Error is the text that is stored.
func (e *HandlerError) Error() string { return e.Text }

// Unwrap returns what the handler has returned, without what it has asked for; nil if that is not known.
func (e *HandlerError) Unwrap() error { return e.cause }

// each calls f for an error and all that it wraps, the outermost first, until f returns true. What
// other handlers have returned is left out: a handler steers with its own words.
func each(err error, f func(error) bool) bool {
	for err != nil {
		if f(err) {
			return true
		}
		switch x := err.(type) {
		case *HandlerError:
			return false
		case interface{ Unwrap() error }:
			err = x.Unwrap()
		case interface{ Unwrap() []error }:
			for _, one := range x.Unwrap() {
				if each(one, f) {
					return true
				}
			}
			return false
		default:
			return false
		}
	}
	return false
}

// OwnWords returns the error of a handler without what others have returned: [errors.Is] and
// [errors.As] do not find that. It is the error itself if there is nothing of others in it.
func OwnWords(err error) error {
	if others, _ := Find[*HandlerError](err); others == nil {
		return err
	}
	return words{err}
}

// words is an error whose chain ends where it comes to the error of another handler.
type words struct{ err error }

// Error is the text of the error.
func (w words) Error() string { return w.err.Error() }

// Is implements what [errors.Is] asks for.
func (w words) Is(target error) bool {
	if reflect.TypeOf(target).Comparable() && w.err == target {
		return true
	}
	x, ok := w.err.(interface{ Is(error) bool })
	return ok && x.Is(target)
}

// As implements what [errors.As] asks for.
func (w words) As(target any) bool {
	if to := reflect.ValueOf(target).Elem(); reflect.TypeOf(w.err).AssignableTo(to.Type()) {
		to.Set(reflect.ValueOf(w.err))
		return true
	}
	x, ok := w.err.(interface{ As(any) bool })
	return ok && x.As(target)
}

// Unwrap returns what the error wraps.
func (w words) Unwrap() []error {
	var inner []error
	switch x := w.err.(type) {
	case *HandlerError:
	case interface{ Unwrap() error }:
		inner = []error{x.Unwrap()}
	case interface{ Unwrap() []error }:
		inner = x.Unwrap()
	}
	var wrapped []error
	for _, err := range inner {
		if err != nil {
			wrapped = append(wrapped, words{err})
		}
	}
	return wrapped
}
