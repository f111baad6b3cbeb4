package runtime

import (
	"context"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// awaitPage is how many events Await looks at in one go.
const awaitPage = 32

// Await waits for an event of type t that matches, and returns it. Without
// [Query].Since that is the first one that is stored after the call, by this process or,
// within 200 ms, by another. With Since it is the oldest one that was published then or
// later, whether or not it is stored already; a publisher whose clock is a minute behind
// the clocks of others may be missed then. No other event is missed: Await notes where the
// log ends, or begins, before it looks, and reads from there on without a gap. To wait
// for an answer to something, take the time before it is done, and give that as Since.
//
// Of the query Since, CorrelationID and ChildOf count; any other field is a *[QueryError].
// The deadline of ctx bounds the wait. match may be nil, and then each event matches. It
// is called on the caller's goroutine, for one event after the other, in the order of the
// log. A delayed event ([WithDelay]) counts as stored when it was published. Event has no
// Subscription and no Attempt.
//
// It reads the log and changes nothing: no subscription is needed or made, and the event
// goes to its subscriptions as ever. The bus need not be started. An event that cannot be
// decoded matches nothing; that is logged as a warning. The errors are:
//
//   - the error of ctx, if it ends first
//   - *[QueryError], *[UnknownTypeError]
//   - *[EventError], when match panics
//   - [ErrShutdown], as soon as [Bus.Shutdown] begins
//   - [event.ErrRestored], when a backup is restored into the file meanwhile
//   - *[event.StorageError], when the file cannot be read or is gone
//
// A handler that awaits keeps its worker. What it publishes with its context is stored
// when it succeeds, so it cannot await that.
func Await[T Payload](ctx context.Context, bus *Bus, t *EventType[T], q Query, match func(Event[T]) bool) (Event[T], error) {
	e, err := await(ctx, bus, t.of, q, func(e untyped) (bool, error) {
		if match == nil {
			return true, nil
		}
		return matched(typed[T](e.head, e.payload), []func(Event[T]) bool{match})
	})
	if e.payload == nil {
		return Event[T]{}, err
	}
	return typed[T](e.head, e.payload), err
}

// await is [Await] without the type of its payload, a pointer to which match is given.
func await(ctx context.Context, to *Bus, of AnyEventType, q Query, match func(untyped) (bool, error)) (e untyped, err error) {
	b, t := busOf(to), of.(*eventType)
	defer b.keep()
	if err := q.awaitable(t.Name()); err != nil {
		return e, err
	}
	if b.catalogue.Lookup(t.Name()) == nil {
		return e, &UnknownTypeError{EventType: t.Name()}
	}
	if err := b.accepts(); err != nil {
		return e, err
	}
	waiting, end := context.WithCancelCause(ctx)
	defer end(nil)
	go func() {
		select {
		case <-b.stopRequested:
			end(ErrShutdown)
		case <-waiting.Done():
		}
	}()
	watch, err := b.log.Watch(waiting, engine.WatchSpec{Types: []string{t.Name()}, Since: q.Since})
	if err != nil {
		return e, public(err)
	}
	defer watch.Close()
	news := make(chan struct{}, 1)
	watch.Notify(func() {
		select {
		case news <- struct{}{}:
		default:
		}
	})
	for {
		records, _, err := watch.Read(waiting, awaitPage)
		if err == nil {
			err = waiting.Err() // what is in memory is read all the same
		}
		if len(records) == 0 && err == nil {
			select {
			case <-news:
				continue
			case <-waiting.Done():
				err = waiting.Err()
			}
		}
		switch {
		case err != nil && waiting.Err() != nil && ctx.Err() == nil:
			return e, ErrShutdown
		case err != nil:
			return e, public(err)
		}
		for i := range records {
			r := records[i]
			if !q.covers(r) {
				continue
			}
			event, err := t.stored(r)
			if err != nil {
				b.config.logger.Warn("Await passes over an event that cannot be decoded", "event", r.ID, "type", t.Name(), "error", err)
				continue
			}
			if ok, err := match(event); ok || err != nil {
				return event, err
			}
		}
	}
}

// awaitable refuses what Await cannot wait for.
func (q Query) awaitable(eventType string) error {
	switch {
	case q.Status != "":
		return &QueryError{eventType, "Status", "Await returns an event as soon as it is stored; wait for its deliveries with Receipt.Wait"}
	case !q.Until.IsZero():
		return &QueryError{eventType, "Until", "bound the wait with the deadline of the context"}
	case q.Limit != 0:
		return &QueryError{eventType, "Limit", "Await returns one event"}
	}
	return nil
}

// covers reports whether a record is one that the query chooses. The log keeps times in
// microseconds.
func (q Query) covers(r *engine.Record) bool {
	if !q.Since.IsZero() && r.CreatedAt.UnixMicro() < q.Since.UnixMicro() {
		return false
	}
	if q.CorrelationID == "" && q.ChildOf == uuid.Nil {
		return true
	}
	l := engine.LineageOf(r.Metadata)
	return (q.CorrelationID == "" || l.CorrelationID == q.CorrelationID) && (q.ChildOf == uuid.Nil || l.ParentID == q.ChildOf)
}
