package inspect

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// Tree returns an event with its descendants: the events that its handlers have published
// with their contexts, its dead-letter notices, and what their handlers have published in
// turn. It has at most 10,000 events, those nearest to the event first; a node whose
// children are not all there is Truncated.
//
// The events are read one after the other, so that a tree that grows may be read in part.
// Descendants of an event that was pruned are missing. The error is a *[event.NotFoundError]
// without the event.
func (f *File) Tree(ctx context.Context, id uuid.UUID) (*event.TreeNode, error) {
	return f.TreeUpTo(ctx, id, engine.TreeLimit)
}

// TreeUpTo is Tree with at most so many events, from 1 to 10,000. Where a node has more
// children than fit, the newest are there.
func (f *File) TreeUpTo(ctx context.Context, id uuid.UUID, limit int) (*event.TreeNode, error) {
	if limit < 1 || limit > engine.TreeLimit {
		return nil, fmt.Errorf("the limit is %d: want a number from 1 to %d", limit, engine.TreeLimit)
	}
	return engine.ReadTree(ctx, f.log, id, limit)
}

// Root returns the event with which everything began that led to an event: the event
// itself, if no handler has published it. If an event between them was pruned, it returns
// the oldest one that is left. The error is a *[event.NotFoundError] without the event.
func (f *File) Root(ctx context.Context, id uuid.UUID) (uuid.UUID, error) {
	return engine.RootOf(ctx, f.log, id)
}
