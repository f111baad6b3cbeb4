package runtime

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// change waits until no subscription is being made, removed or started, and keeps others from beginning until end is
// called.
func (b *innerBus) change(ctx context.Context) (end func(), err error) {
	select {
	case b.changing <- struct{}{}:
		return func() { <-b.changing }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-b.stopRequested:
		return nil, ErrShutdown
	}
}

// subscribeTime is how long Subscribe, which has no context, waits for the log.
const subscribeTime = 10 * time.Second

// subscribing returns the context of a Subscribe. It ends when a shutdown begins, too.
func (b *innerBus) subscribing() (ctx context.Context, end func()) {
	ctx, cancel := context.WithTimeout(context.Background(), subscribeTime)
	go func() {
		select {
		case <-b.stopRequested:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// notSubscribed returns the error of a Subscribe whose context is ctx.
func (b *innerBus) notSubscribed(ctx context.Context, err error) error {
	switch {
	case !errors.Is(err, ctx.Err()) || ctx.Err() == nil:
		return public(err)
	case b.accepts() != nil:
		return ErrShutdown
	}
	return &event.StorageError{
		Fault: event.Busy, Op: "subscribe in", Path: b.log.Traits().Target, Err: fmt.Errorf("it could not be written within %v", subscribeTime),
		Hint: "another process holds a lock on the file, or the server does not answer; try again when it is done",
	}
}

// closingTime is how long after its context a call that ends something goes on trying to write what is pending, if
// others keep it from writing.
const closingTime = 500 * time.Millisecond

// closing returns a context for what has to be written at the end of a call. It ends closingTime after ctx, and not
// before so much time has passed.
func closing(ctx context.Context) (late context.Context, end func()) {
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(closingTime, cancel)
		context.AfterFunc(late, func() { timer.Stop() })
	})
	return late, func() { stop(); cancel() }
}

// closeWithin closes a log, soon after ctx has ended at the latest.
func closeWithin(ctx context.Context, log engine.Log) error {
	late, end := closing(ctx)
	defer end()
	return log.CloseWithin(late)
}
