package dispatch

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/busgen/busgen/runtime/internal/guard"
)

// The dispatcher calls code of the program beside the handler itself: methods of
// the errors that it returns, and functions that match errors. A panic in one of
// them must not end the process, so each call is made here, with recover. Nor must
// it end the goroutine of a worker, so it runs on one of its own.

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

// classify looks at the error of an attempt. The code of the program that is called for that may end its
// goroutine, which must not be the worker's.
func (a *Attempt) classify(err error, kind, stack string) failure {
	f, ok := guard.Apart(func() failure { return a.examine(err, kind, stack) })
	if !ok {
		f = failure{kind: kind, stack: stack, typ: fmt.Sprintf("%T", err)}
		f.text = fmt.Sprintf("(an error of type %T: one of its methods, or a function that matches errors, has ended its goroutine)", err)
	}
	return f
}

// Decoding says that code of the program begins to decode the payload for the handler, or has done so. The
// error says that the attempt is over, so that the handler must not be called.
func (a *Attempt) Decoding(begins bool) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.run.decoding = begins; a.over {
		return ErrOver
	}
	return nil
}

func (a *Attempt) decodes() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.run.decoding
}

// exited is the error of an attempt whose goroutine was ended.
func (a *Attempt) exited(stack string) error {
	if a.decodes() {
		return &DecodeError{Err: DecodingExited(a.Type), Stack: stack}
	}
	return errors.New("the handler ended its goroutine (runtime.Goexit)")
}

// DecodingExited is the error for a payload whose code ends the goroutine that decodes it.
func DecodingExited(eventType string) error {
	return fmt.Errorf("the payload of this %s event cannot be decoded: its code has ended the goroutine (runtime.Goexit)", eventType)
}

// during says of the error of an attempt that is late that the handler was not even called.
func (a *Attempt) during(late error) error {
	if a.decodes() {
		return fmt.Errorf("code of the program still decodes the payload, and the handler was not called: %w", late)
	}
	return late
}

// exited is that of a batch.
func (b *Batch) exited(stack string) error {
	if a := b.preparing.Load(); a != nil {
		return a.exited(stack)
	}
	return b.whole.exited(stack)
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
