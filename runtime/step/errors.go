package step

import (
	"errors"
	"fmt"

	"github.com/busgen/busgen/runtime/internal/dispatch"
	"github.com/busgen/busgen/runtime/internal/dispatch/errs"
)

// ErrSuspended says that the handler waits in a step: it returns this error, and is called again when the wait is over. All
// later steps and publishes of the attempt return it, too.
var ErrSuspended = dispatch.ErrSuspended

// ErrNoEvent says that no event that a step waits for has come in time. It is the result of the step from then on.
var ErrNoEvent = errors.New("no such event has come in time")

// NameError says that a step has no good name. The event becomes a dead letter at once, with reason permanent.
//
//	type NameError struct {
//		Name    string // of the step
//		Problem string // in words; of a name that is used twice it names both places
//	}
type NameError = errs.NameError

// ResultError says that the result of a step cannot be stored, or that what is stored does not fit. The event becomes a dead
// letter at once: with reason decode if another program could read what is stored, else with reason permanent.
type ResultError struct {
	Step    string // its name
	Problem string // in words
	Then    string // of one that does not fit: the shape with which it was stored; else empty
	Now     string // the shape that the program wants
	Err     error  // what decoding has returned, or the function of Reads; else nil
}

// Error names the step and says what does not fit.
func (e *ResultError) Error() string {
	text := fmt.Sprintf("step %q: %s", e.Step, e.Problem)
	if e.Then != "" {
		text += fmt.Sprintf("; it was stored as %s, and the program wants %s: give the step a function that reads it (step.Reads), or another name", e.Then, e.Now)
	}
	return text
}

// Unwrap returns what decoding has returned, or nil.
func (e *ResultError) Unwrap() error { return e.Err }
