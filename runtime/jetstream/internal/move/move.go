// Package move brings the open events of a bus in a file to one on NATS JetStream. It reads the
// file with the engine of files (sqlite.Departure), and writes with the one here
// (buslog.Arrival).
//
// The file is labelled before anything moves, so that nothing in it changes any more; the
// record of how far the move has come is in the same batch as what has moved. So the moving
// process may be killed at any moment, and the next one goes on where it was.
package move

import (
	"context"
	"errors"
	"fmt"

	"github.com/busgen/busgen/runtime/internal/sqlite"
	"github.com/busgen/busgen/runtime/jetstream/internal/buslog"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// Move moves the file at path to the stream that open opens. to is what the file says about
// where its events are. progress is told after each batch.
func Move(ctx context.Context, path, to, actor string, open func() (*stream.Stream, error), progress func(buslog.Moved)) (moved buslog.Moved, err error) {
	s, err := open()
	if err != nil {
		return moved, err
	}
	defer s.Close()
	from, err := sqlite.Depart(ctx, path, to)
	if err != nil {
		return moved, err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	// Obstacles are found before the file is labelled.
	if err := buslog.Vacant(ctx, s, to, from.Baggage().Log); err != nil {
		return moved, err
	}
	if err := from.Begin(ctx); err != nil {
		return moved, err
	}
	a, err := buslog.Arrive(ctx, s, to, from.Path(), from.Baggage())
	if err != nil {
		return moved, err
	}
	for after := a.After(); !a.Done(); {
		events, until, err := from.Events(after)
		if err != nil {
			return a.Moved(), err
		}
		if err := a.Add(ctx, events); err != nil {
			return a.Moved(), err
		}
		progress(a.Moved())
		if err := ctx.Err(); err != nil {
			return a.Moved(), fmt.Errorf("the move was stopped; the same command goes on with it: %w", err)
		}
		if until == 0 {
			if err := a.Finish(ctx, actor, from.Path()); err != nil {
				return a.Moved(), err
			}
			break
		}
		after = until
	}
	return a.Moved(), from.Finish(ctx)
}
