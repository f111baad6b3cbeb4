package errs

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strconv"

	"github.com/busgen/busgen/runtime/internal/guard"
)

// The dispatcher calls code of the program beside the handler itself: methods of
// the errors that it returns, and functions that match errors. A panic in one of
// them must not end the process, so each call is made here, with recover. Nor must
// it end the goroutine of a worker, so it runs on one of its own.

// TextOf returns the text of an error, at most errorLimit bytes. It reports false
// when the error panics instead of saying what it is.
func TextOf(err error) (text string, ok bool) {
	defer func() {
		if recover() != nil {
			text, ok = Unreadable(err, "Error"), false
		}
	}()
	text = err.Error()
	if len(text) > errorLimit {
		text = fmt.Sprintf("%s … (%d bytes more)", text[:errorLimit], len(text)-errorLimit)
	}
	return text, true
}

// Unreadable describes an error that panics in one of its methods.
func Unreadable(err error, methods string) string {
	err = innermost(err)
	if v := reflect.ValueOf(err); v.Kind() == reflect.Pointer && v.IsNil() {
		return fmt.Sprintf("(the handler returned a nil pointer of type %T as its error: return nil itself to say that all went well)", err)
	}
	return fmt.Sprintf("(an error of type %T, which panics in %s)", err, methods)
}

// Find is [errors.As] for what a handler says itself: see [HandlerError]. It reports false when a
// method of the error (Unwrap, Is or As) panics before it is found.
func Find[T error](err error) (found T, ok bool) {
	defer func() { ok = recover() == nil }()
	each(err, func(err error) (is bool) {
		if found, is = err.(T); is {
			return true
		}
		x, ok := err.(interface{ As(any) bool })
		return ok && x.As(&found)
	})
	return found, true
}

// innermost returns the error that says most: the first one that is not merely a
// wrapper.
func innermost(err error) error {
	for {
		_, steers := err.(Steering)
		if !steers && reflect.TypeOf(err) != wrapper {
			return err
		}
		inner := errors.Unwrap(err) // of types that are known
		if inner == nil {
			return err
		}
		err = inner
	}
}

// wrapper is the type that fmt.Errorf returns for %w.
var wrapper = reflect.TypeOf(fmt.Errorf("%w", errors.New("")))

// Matches asks a function of the program about an error of a handler.
func Matches(match func(error) bool, err error) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	return match(OwnWords(err))
}

// errorLimit bounds the text of an error that is kept, in bytes.
const errorLimit = 16 << 10

// panicked is the error of an attempt whose handler has panicked. It does not
// wrap the value, even if that is an error: nobody has returned it, so it steers
// nothing.
type panicked struct {
	text string
	kind string // the Go type of the value
}

func NewPanicked(cause any) *panicked {
	return &panicked{"panic: " + guard.PanicText(cause), fmt.Sprintf("%T", cause)}
}

// Error says what the panic was about.
func (p *panicked) Error() string { return p.text }

// TypeName names the Go type that says most about an error: that of what a handler
// has panicked with, or of the first one that is not merely a wrapper.
func TypeName(err error) string {
	if p, ok := err.(*panicked); ok {
		return p.kind
	}
	return fmt.Sprintf("%T", innermost(err))
}

// CodeOf returns the code that an error, or one that it wraps, says of itself by a method, as errors of HTTP clients,
// databases and commands do; "" for none. Dead letters with different codes are not of one kind. It calls code of the
// program, so that a panic is no code.
func CodeOf(err error) (code string) {
	defer func() {
		if recover() != nil {
			code = ""
		}
	}()
	each(err, func(err error) bool {
		switch e := err.(type) {
		case interface{ SQLState() string }:
			code = e.SQLState()
		case interface{ StatusCode() int }:
			code = strconv.Itoa(e.StatusCode())
		case interface{ HTTPStatusCode() int }:
			code = strconv.Itoa(e.HTTPStatusCode())
		case interface{ ExitCode() int }:
			code = strconv.Itoa(e.ExitCode())
		case interface{ ErrorCode() string }:
			code = e.ErrorCode()
		case interface{ Code() string }:
			code = e.Code()
		case interface{ Code() int }:
			code = strconv.Itoa(e.Code())
		}
		if !isCode.MatchString(code) || digits.MatchString(code) {
			code = ""
		}
		return code != ""
	})
	return code
}

var (
	isCode = regexp.MustCompile(`^-?[A-Za-z0-9_.]{1,40}$`)
	digits = regexp.MustCompile(`[0-9]{6}`) // which count something, or name an event
)
