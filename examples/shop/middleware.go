package main

import (
	"context"
	"time"

	"github.com/busgen/busgen/runtime"
)

// timed says how long each handler has worked. The log of the shop leaves lines of level
// Debug out, but those of an attempt that fails are kept with it: "busgen dlq show" has them.
func timed(next runtime.Next) runtime.Next {
	return func(ctx context.Context, e runtime.Event[any]) error {
		start := time.Now()
		err := next(ctx, e)
		runtime.Logger(e).Debug("the handler has returned", "took", time.Since(start).Round(time.Microsecond), "ok", err == nil)
		return err
	}
}

type sessionKey struct{}

// inSession is the context of a customer's visit, as the web server would make it.
func inSession(ctx context.Context, session string) context.Context {
	return context.WithValue(ctx, sessionKey{}, session)
}

// stamped writes into the metadata of an event from which visit it comes. No publisher
// can forget it.
func stamped(ctx context.Context, p *runtime.Publication) error {
	if session, ok := ctx.Value(sessionKey{}).(string); ok {
		p.Metadata["session"] = session
	}
	return nil
}
