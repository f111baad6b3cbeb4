package stream

import (
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// ErrConflict says that something else was appended to a subject meanwhile. Nothing was
// stored.
var ErrConflict = errors.New("another process has changed the same record")

// ErrNotFound says that there is no such message.
var ErrNotFound = errors.New("no such message")

// ErrNoStream says that the servers do not have the stream.
var ErrNoStream = errors.New("the servers have no such stream")

// ErrInDoubt says that the server has not answered in time: the messages may be stored.
var ErrInDoubt = errors.New("the server has not said whether it has stored this")

// ErrStored says that a message of a batch was stored before: its id is known. Nothing was
// stored now.
var ErrStored = errors.New("the server has stored a message of this id before")

// ErrBusy says that the servers cannot store this at the moment: the leader of the stream
// changes, or too much is on its way. Nothing was stored.
var ErrBusy = errors.New("the servers cannot store anything at the moment")

// ErrTooLarge says that a message is larger than the servers, or the stream, allow, or that a
// batch has more messages. Nothing was stored, and never will be.
var ErrTooLarge = errors.New("this is more than the servers accept at once")

// ErrBehind says that the server that answers has less than was read before. It has been the
// leader, and does not know yet that another one is: what it does not find may be there.
var ErrBehind = errors.New("the server that answers is not the leader any more")

// ErrLeaderless says that the server that answers knows of no leader: the servers elect one, or it is cut off from the
// others. Its answer may be old.
var ErrLeaderless = errors.New("the server that answers knows of no leader of the stream")

// ErrSilent says that the server has not answered in time a question that changes nothing.
var ErrSilent = errors.New("the server does not answer")

// Passes reports whether an error is one that ends by itself, such as that the stream has no
// leader at the moment, or the client no connection. The message may be stored if the error
// matches [ErrInDoubt].
func Passes(err error) bool {
	for _, one := range []error{ErrInDoubt, ErrBusy, ErrSilent, ErrBehind, ErrLeaderless, nats.ErrNoResponders, nats.ErrReconnectBufExceeded, nats.ErrDisconnected, nats.ErrConnectionReconnecting, nats.ErrTimeout} {
		if errors.Is(err, one) {
			return true
		}
	}
	return false
}

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

// Refused returns the refusal of the server that an error has, also one of a call of the client's
// library; nil if it has none.
func Refused(err error) *ServerError {
	var refused *ServerError
	var other *jetstream.APIError
	switch {
	case errors.As(err, &refused):
		return refused
	case errors.As(err, &other):
		return &ServerError{Code: other.Code, ErrCode: int(other.ErrorCode), Description: other.Description}
	}
	return nil
}

// The codes of refusals that mean something here.
const (
	wrongLast         = 10071 // another message is the last one of the subject
	wrongLastInFlight = 10164 // a message for the subject is on its way
	duplicateInBatch  = 10201
	tooManyBatches    = 10210
	incompleteBatch   = 10176 // the leader has changed in the middle of a batch
	sameIDInFlight    = 10158 // a message of this id is on its way
	noLeader          = 10008
	notLeader         = 10009
	headerTooLarge    = 10097
	messageTooLarge   = 10054
	batchTooLarge     = 10199
	noMessage         = 10037
	noSequence        = 10043
	storeFailed       = 10077
	noPeers           = 10005
	notClustered      = 10074
	noTier            = 10120 // of the account, for a stream of so many replicas
)

// Is makes refusals match the errors of this package.
func (e *ServerError) Is(target error) bool {
	switch e.ErrCode {
	case wrongLast, wrongLastInFlight:
		return target == ErrConflict
	case duplicateInBatch:
		return target == ErrStored
	case tooManyBatches, incompleteBatch, sameIDInFlight, noLeader, notLeader:
		return target == ErrBusy
	case headerTooLarge, messageTooLarge, batchTooLarge:
		return target == ErrTooLarge
	case noMessage:
		return target == ErrNotFound
	}
	return false
}
