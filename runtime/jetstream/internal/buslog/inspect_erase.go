package buslog

import (
	"context"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// Erase implements [engine.Eraser]. A stream is append-only: what was written to it can be
// deleted, but not changed in its place, and each process of the bus has it in memory.
func (in *Inspection) Erase(context.Context, engine.Erasure) (event.Erased, error) {
	return event.Erased{}, &event.UnsupportedError{
		Engine: "the engine on JetStream", What: "erase a person",
		Hint: "settled events leave the stream with runtime.WithRetention, and the audit and dead letters stay",
	}
}
