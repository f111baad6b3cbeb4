package runtime

import (
	"context"
	"errors"
	"sync"

	"github.com/busgen/busgen/runtime/internal/dispatch"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// Interrupting is for handlers whose work nobody needs any more: those that answer when
// somebody else has answered, and those of events that such handlers have published at
// once. It is not what a user's Cancel does, which lets running handlers go on.
//
// Attempts keep what it needs only while Bus.interrupts is true, which costs each of them
// a little memory. Whoever will interrupt sets it before the first attempt that may lose.

// interrupt ends the contexts of the handlers of this bus that run for the event at seq,
// with a cause: of one subscription (a group by its own name) or, for an empty name, of
// all. If they fail after that, their deliveries are discarded, with the text of the cause
// as the reason. It abandons what these handlers have published. It does not wait for
// handlers, but for the file; call it without locks that handlers need.
func (b *Bus) interrupt(seq int64, subscription string, cause error) {
	for _, a := range b.interruptAttempts(seq, subscription, cause) {
		b.abandon(a, cause)
	}
}

func (b *Bus) interruptAttempts(seq int64, subscription string, cause error) (interrupted []*dispatch.Attempt) {
	var schedulers []*dispatch.Scheduler
	b.mu.Lock()
	for _, f := range b.feeds {
		if f.scheduler != nil && (subscription == "" || f.name == subscription) {
			schedulers = append(schedulers, f.scheduler)
		}
	}
	b.mu.Unlock()
	for _, s := range schedulers {
		interrupted = append(interrupted, s.Interrupt(seq, cause)...)
	}
	return interrupted
}

// abandon cancels the events that the handler of an attempt has published at once, and
// interrupts their handlers, and so on with what those have published. What the handler
// publishes from now on is cancelled by storedBy.
func (b *Bus) abandon(a *dispatch.Attempt, cause error) {
	children := a.Abandon(cause)
	var cancelling sync.WaitGroup
	places := make(chan struct{}, cancelsAtOnce)
	for _, child := range children { // at once, so that they share transactions
		places <- struct{}{}
		cancelling.Go(func() {
			b.cancelChild(child, cause)
			<-places
		})
	}
	cancelling.Wait()
	for _, child := range children { // after all are cancelled: the worker of one would begin the next
		b.interrupt(child.Seq, "", cause)
	}
}

// cancelsAtOnce is how many events are cancelled at the same time at most.
const cancelsAtOnce = 64

func (b *Bus) cancelChild(child dispatch.Child, cause error) {
	_, err := b.log.Cancel(context.Background(), engine.Cancellation{Event: child.ID, Reason: cause.Error()})
	var begun *engine.BegunError
	var settled *engine.NotOpenError
	if err != nil && !errors.As(err, &begun) && !errors.As(err, &settled) && !errors.Is(err, engine.ErrClosed) {
		b.config.logger.Warn("an event that nobody needs any more could not be cancelled; it is handled",
			"event_id", child.ID, "error", err)
	}
}

// storedBy is called with events that the handler of an attempt has published at once.
func (b *Bus) storedBy(a *dispatch.Attempt, records []engine.Record) {
	if !b.interrupts.Load() {
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
