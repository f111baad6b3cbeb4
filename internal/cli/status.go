package cli

import "errors"

// The exit statuses that all verbs share. What 1 means depends on the verb;
// each says so in its help.
const (
	StatusNo       = 1 // the answer is no: findings in the catalogue, code out of date
	StatusTrouble  = 2 // the verb could not do its work: usage, files
	StatusNotFound = 3 // there is no such event, no dead letter that matches, nothing to import
)

// No marks an error that is the answer "no", as opposed to trouble.
func No(err error) error { return WithStatus(StatusNo, err) }

// NotFound marks an error that says that there is no such thing.
func NotFound(err error) error { return WithStatus(StatusNotFound, err) }

// WithStatus makes an error end the process with an exit status.
func WithStatus(status int, err error) error { return &statusError{err, status} }

// StatusOf returns the exit status that an error asks for. It is
// [StatusTrouble] unless the error says otherwise, and 0 for nil.
func StatusOf(err error) int {
	if err == nil {
		return 0
	}
	if e, ok := errors.AsType[*statusError](err); ok {
		return e.status
	}
	return StatusTrouble
}

// statusError is an error with an exit status.
type statusError struct {
	error
	status int
}

func (e *statusError) Unwrap() error { return e.error }
