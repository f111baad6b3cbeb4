package runtime

import (
	"bytes"
	"context"
	"errors"
	"sync"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/event"
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

// Interrupting is for handlers whose work nobody needs any more: those that answer when
// somebody else has answered, and those of events that such handlers have published at
// once. It is not what a user's Cancel does, which lets running handlers go on.
//
// Attempts keep what it needs only while Bus.interrupts is true, which costs each of them
// a little memory. Whoever will interrupt sets it before the first attempt that may lose.

// abandoning is what goes on for [Bus.abandon]. A shutdown waits for it.
type abandoning struct {
	mu      sync.Mutex
	ctx     context.Context // ends when a shutdown does not wait any longer
	end     context.CancelFunc
	closed  bool // nothing more begins
	running sync.WaitGroup
}

// abandon cancels the events that the handler of an attempt has published at once, and
// interrupts their handlers, and so on with what those have published. What the handler
// publishes from now on is cancelled by storedBy. It does not wait for that: the file may
// be slow, and a caller that has its answer has no use for it. What a shutdown does not wait
// for is handled after the next start.
func (b *innerBus) abandon(a *dispatch.Attempt, cause error) {
	children := a.Abandon(cause)
	work := &b.abandoning
	work.mu.Lock()
	defer work.mu.Unlock()
	if work.closed || len(children) == 0 {
		return
	}
	if work.ctx == nil {
		work.ctx, work.end = context.WithCancel(context.Background())
	}
	ctx := work.ctx
	work.running.Go(func() { b.cancelAll(ctx, children, cause) })
}

// stop waits until nothing is being abandoned any more, or ctx ends.
func (work *abandoning) stop(ctx context.Context) {
	work.mu.Lock()
	work.closed = true
	end := work.end
	work.mu.Unlock()
	if end == nil {
		return
	}
	defer end()
	defer context.AfterFunc(ctx, end)()
	work.running.Wait()
}

// cancelAll cancels events, and interrupts their handlers, until ctx ends.
func (b *innerBus) cancelAll(ctx context.Context, children []dispatch.Child, cause error) {
	var cancelling sync.WaitGroup
	places := make(chan struct{}, cancelsAtOnce)
	for _, child := range children {
		places <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		cancelling.Go(func() {
			b.cancelChild(ctx, child, cause)
			<-places
		})
	}
	cancelling.Wait()
	for _, child := range children { // after all are cancelled: the worker of one would begin the next
		for _, a := range b.interruptAttempts(child.Seq, "", cause) {
			if more := a.Abandon(cause); len(more) > 0 {
				b.cancelAll(ctx, more, cause)
			}
		}
	}
}

// cancelsAtOnce is how many events are cancelled at the same time at most.
const cancelsAtOnce = 64

func (b *innerBus) cancelChild(ctx context.Context, child dispatch.Child, cause error) {
	_, err := b.log.Cancel(ctx, engine.Cancellation{Event: child.ID, Reason: cause.Error()})
	var begun *event.BegunError
	var settled *event.NotOpenError
	if err != nil && !errors.As(err, &begun) && !errors.As(err, &settled) && !errors.Is(err, engine.ErrClosed) {
		b.config.logger.Warn("an event that nobody needs any more could not be cancelled; it is handled",
			"event_id", child.ID, "error", err)
	}
}

// mayLose reports whether the handler of an attempt may be one that nobody needs any more:
// somebody has asked for its event, or another handler has published that. What others
// publish at once is not noted, however much it is.
func (b *innerBus) mayLose(a *dispatch.Attempt) bool {
	return a.Whole() || bytes.Contains(a.Metadata, hopsKey) || b.exchanges.find(a.ID) != nil
}

// hopsKey is in the metadata of all events that handlers publish, as JSON.
var hopsKey = []byte(`"` + engine.HopsKey + `"`)

// storedBy is called with events that the handler of an attempt has published at once, on the goroutine that has
// published them, without locks.
func (b *innerBus) storedBy(a *dispatch.Attempt, records []engine.Record) {
	if !b.interrupts.Load() || !b.mayLose(a) {
		return
	}
	children := make([]dispatch.Child, 0, len(records))
	for i := range records {
		r := &records[i]
		if r.Duplicate || r.Dedupe != nil {
			continue // it is somebody else's, or can become so: who publishes the key has published this event
		}
		children = append(children, dispatch.Child{Seq: r.Seq, ID: r.ID})
	}
	if cause := a.Stored(children...); cause != nil {
		b.abandon(a, cause)
	}
}
