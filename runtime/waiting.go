package runtime

import (
	"context"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/dispatch"
	"github.com/busgen/busgen/runtime/internal/dispatch/errs"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// A handler that needs what becomes of another event publishes it with [Immediately] and
// waits for it. How its worker, its place and its key are lent meanwhile is in package
// dispatch (waiting.go).

// Immediately stores an event at once, although it is published with the context of a
// handler, and whatever becomes of that handler: if the attempt fails and is tried again,
// the event is published again, unless [WithDedupeKey] says that it is the same. The event
// has all else that events of the handler have, such as the correlation id. The handler
// can wait for it ([Receipt.Wait]). Outside of handlers, and in those of another bus, the
// option changes nothing.
//
// The event is kept like a delayed one that is due now ([WithDelay]): subscriptions that are
// made after it was published do not get it, unless from the beginning, and it is not
// refused when too much is pending ([WithMaxPending]). Publishing returns
// [ErrAttemptOver] after the attempt has ended, and [ErrShutdown] once the bus is shutting
// down.
func Immediately() PublishOption {
	return func(c *publishConfig) { c.immediately = true }
}

// WaitCycleError is returned by [Receipt.Wait] to a handler if the handlers of the event
// wait for the handler's own event, directly or through others. Waiting would never end;
// nothing was done. Waits of handlers in another process are not known: a circle over two
// processes ends with the timeout of a handler.
//
//	type WaitCycleError struct {
//		// Path is the circle: the handler of each event waits for the next one. The first is
//		// the event whose handler was refused, and it is the last again.
//		Path []uuid.UUID
//	}
type WaitCycleError = errs.WaitCycleError

// lend calls wait inside the handler of an attempt. Wait waits until the event at seq is
// settled, or for something that handlers of the event do. Meanwhile deliveries of the
// event overtake everything in this bus, and may use the handler's place, worker and
// partition key. Before lend returns the handler has them back.
//
// The context that wait is given ends with ctx, with the attempt, and when the bus stops.
// lend returns what wait returns; if that is because its context has ended, it returns the
// error of ctx, [ErrShutdown], or the cause of the attempt's end. A *[WaitCycleError] says
// that wait was not called. It is safe for concurrent use.
func (b *innerBus) lend(ctx context.Context, a *dispatch.Attempt, seq int64, wait func(context.Context) error) error {
	return a.Await(ctx, seq, wait)
}

// outcomeFor is [engine.Waiter].Outcome inside the handler of an attempt.
func (b *innerBus) outcomeFor(ctx context.Context, a *dispatch.Attempt, id uuid.UUID, seq int64) (settled []engine.Settlement, err error) {
	err = b.lend(ctx, a, seq, func(ctx context.Context) (err error) {
		settled, err = b.outcome(ctx, id, seq)
		return err
	})
	return settled, err
}
