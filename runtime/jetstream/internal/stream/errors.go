package stream

import (
	"errors"
	"fmt"
)

// ErrConflict says that something else was appended to a subject meanwhile. Nothing was
// stored.
var ErrConflict = errors.New("another process has changed the same record")

// ErrNotFound says that there is no such message.
var ErrNotFound = errors.New("no such message")

// ErrInDoubt says that the server has not answered in time: the messages may be stored.
var ErrInDoubt = errors.New("the server has not said whether it has stored this")

// ErrStored says that a message of a batch was stored before: its id is known. Nothing was
// stored now.
var ErrStored = errors.New("the server has stored a message of this id before")

// ForeignError says why a stream cannot hold a bus.
type ForeignError struct{ Problem string }

// Error says what is wrong with the stream.
func (e *ForeignError) Error() string { return "the stream is not one of a bus: " + e.Problem }

// ServerError is a refusal of the server.
type ServerError struct {
	Code        int    `json:"code"`
	ErrCode     int    `json:"err_code"`
	Description string `json:"description"`
}

// Error has the words of the server.
func (e *ServerError) Error() string { return fmt.Sprintf("%s (%d)", e.Description, e.ErrCode) }

// The codes of refusals that mean something here.
const (
	wrongLast         = 10071 // another message is the last one of the subject
	wrongLastInFlight = 10164 // a message for the subject is on its way
	duplicateInBatch  = 10201
	tooManyBatches    = 10210
	noMessage         = 10037
	noSequence        = 10043
)

// Is makes refusals match the errors of this package.
func (e *ServerError) Is(target error) bool {
	switch e.ErrCode {
	case wrongLast, wrongLastInFlight:
		return target == ErrConflict
	case duplicateInBatch:
		return target == ErrStored
	case noMessage:
		return target == ErrNotFound
	}
	return false
}
