package runtime

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// life is the end of a bus, and what waits for it.
type life struct {
	changing      chan struct{}  // holds a token while subscriptions are made, removed or started, which the log is asked for
	stopRequested chan struct{}  // closed when Shutdown begins
	stopped       chan struct{}  // closed when Shutdown is through
	maintenance   sync.WaitGroup // goroutines of the bus that end with it
}

func newLife() life {
	return life{changing: make(chan struct{}, 1), stopRequested: make(chan struct{}), stopped: make(chan struct{})}
}

// change waits until no subscription is being made, removed or started, and keeps others from beginning until end is
// called.
func (l *life) change(ctx context.Context) (end func(), err error) {
	select {
	case l.changing <- struct{}{}:
		return func() { <-l.changing }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-l.stopRequested:
		return nil, ErrShutdown
	}
}

// subscribing returns the context of a Subscribe. It ends when a shutdown begins, too.
func (l *life) subscribing() (ctx context.Context, end func()) {
	ctx, cancel := context.WithTimeout(context.Background(), subscribeTime)
	go func() {
		select {
		case <-l.stopRequested:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// untilShutdown returns a context that ends when Shutdown begins.
func (l *life) untilShutdown() context.Context {
	ctx, end := context.WithCancel(context.Background())
	l.maintenance.Go(func() { <-l.stopRequested; end() })
	return ctx
}

// subscribeTime is how long Subscribe, which has no context, waits for the log.
const subscribeTime = 10 * time.Second

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
