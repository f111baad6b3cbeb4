package dispatch

import (
	"errors"
	"fmt"
	"reflect"
)

// The dispatcher calls code of the program beside the handler itself: methods of
// the errors that it returns, and functions that match errors. A panic in one of
// them must not end the process, so each call is made here, with recover.

// textOf returns the text of an error, at most errorLimit bytes. It reports false
// when the error panics instead of saying what it is.
func textOf(err error) (text string, ok bool) {
	defer func() {
		if recover() != nil {
			text, ok = unreadable(err, "Error"), false
		}
	}()
	text = err.Error()
	if len(text) > errorLimit {
		text = fmt.Sprintf("%s … (%d bytes more)", text[:errorLimit], len(text)-errorLimit)
	}
	return text, true
}

// unreadable describes an error that panics in one of its methods.
func unreadable(err error, methods string) string {
	err = core(err)
	if v := reflect.ValueOf(err); v.Kind() == reflect.Pointer && v.IsNil() {
		return fmt.Sprintf("(the handler returned a nil pointer of type %T as its error: return nil itself to say that all went well)", err)
	}
	return fmt.Sprintf("(an error of type %T, which panics in %s)", err, methods)
}

// find is [errors.As] for what a handler says itself: see [HandlerError]. It reports false when a
// method of the error (Unwrap, Is or As) panics before it is found.
func find[T error](err error) (found T, ok bool) {
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

// core returns the error that says most: the first one that is not merely a
// wrapper.
func core(err error) error {
	for {
		_, steers := err.(steering)
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

// matches asks a function of the program about an error of a handler.
func matches(match func(error) bool, err error) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	return match(OwnWords(err))
}
