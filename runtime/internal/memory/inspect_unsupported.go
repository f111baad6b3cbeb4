package memory

import (
	"context"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// What follows is for operators of logs that live longer than a process.

func (in *inspection) Check(context.Context) ([]engine.Problem, error) {
	return nil, nil // there is nothing that a disk could damage
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

// errUnsupported is the error of what an inspection of a log in memory cannot do.
func errUnsupported(what string) error {
	return &engine.UnsupportedError{Engine: "the engine in memory", What: what}
}
