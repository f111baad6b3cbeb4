package memory

import (
	"context"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// What follows is for operators of logs that live longer than a process.

func (in *inspection) EventsWithID(context.Context, []byte, int) ([]uuid.UUID, error) {
	return nil, errUnsupported("find events by the beginning of their id")
}

func (in *inspection) Redelivered(context.Context, []engine.Key) ([]engine.Redelivery, error) {
	return nil, errUnsupported("follow dead letters that were retried")
}

func (in *inspection) FailureGroups(context.Context, engine.Filter) ([]engine.FailureGroup, error) {
	return nil, errUnsupported("group dead letters")
}

func (in *inspection) FailureGroupNames(context.Context, string) ([]string, error) {
	return nil, errUnsupported("group dead letters")
}

func (in *inspection) Check(context.Context) ([]engine.Problem, error) {
	return nil, nil // there is nothing that a disk could damage
}

func (in *inspection) RemoveSubscription(context.Context, string) (engine.Removed, error) {
	return engine.Removed{}, errUnsupported("remove a subscription")
}

func (in *inspection) RequestBreaker(context.Context, string) (engine.BreakerRequest, error) {
	return engine.BreakerRequest{}, errUnsupported("ask for a circuit breaker to be closed")
}

func (in *inspection) BreakerAnswered(context.Context, engine.BreakerRequest) (bool, error) {
	return false, errUnsupported("ask for a circuit breaker to be closed")
}

func (in *inspection) WithdrawBreaker(context.Context, engine.BreakerRequest) (bool, error) {
	return false, errUnsupported("ask for a circuit breaker to be closed")
}

func (in *inspection) Undiscard(context.Context, engine.Undo) (engine.Undone, error) {
	return engine.Undone{}, errUnsupported("undo a discard")
}

func (in *inspection) EditDeadLetter(context.Context, engine.Key, uuid.UUID, []byte) error {
	return errUnsupported("edit a dead letter")
}

func (in *inspection) ImportDeadLetters() (engine.Import, error) {
	return nil, errUnsupported("import dead letters")
}
