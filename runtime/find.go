package runtime

import (
	"context"
	"iter"
	"slices"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// Find iterates over the stored events of type t that the query chooses, the newest
// first: the order of the log, backwards. match functions choose further, by the payload
// for example; all of them have to return true.
//
//	for event, err := range runtime.Find(ctx, bus, events.OrderPlacedType, runtime.Query{Limit: 10}) {
//
// Payloads are decoded as for handlers, older versions with their upcasts. Event has no
// Subscription and no Attempt. An event that cannot be decoded, or for which a match
// function panics, yields an *[EventError] with its id, and the iteration goes on. After
// any other error it ends:
//
//   - the error of ctx, if it ends first
//   - *[QueryError], *[UnknownTypeError]
//   - [ErrShutdown], as soon as [Bus.Shutdown] begins
//   - *[NotInspectableError], when the engine of the bus cannot list its events
//   - *[event.StorageError], when the file cannot be read
//
// Nothing is read before the iteration begins, and each range over the result reads
// anew. It reads pages of at most 100 events and holds nothing between them: the body of
// the loop may publish, find, and take its time. Events that are published meanwhile are
// not found. It changes nothing, needs no subscription, and the bus need not be started;
// publishers and handlers do not wait for it. There is no index by type or payload: a rare
// type costs 0.6 s for a million events of others, and less with Since. Events that were
// pruned ([WithRetention]) are gone.
func Find[T Payload](ctx context.Context, bus *Bus, t *EventType[T], q Query, match ...func(Event[T]) bool) iter.Seq2[Event[T], error] {
	return func(yield func(Event[T], error) bool) {
		all := len(match) == 0
		missing := slices.ContainsFunc(match, func(f func(Event[T]) bool) bool { return f == nil })
		find(ctx, bus, t.of, q, all, missing, func(e untyped) (bool, error) {
			return matched(typed[T](e.head, e.payload), match)
		}, func(e untyped, err error) bool {
			if err != nil {
				return yield(Event[T]{}, err)
			}
			return yield(typed[T](e.head, e.payload), nil)
		})
	}
}

// find is [Find] without the type of its payload, a pointer to which the functions are given. All says that match
// is true for each event, missing that a function of it is nil.
func find(ctx context.Context, to *Bus, of AnyEventType, q Query, all, missing bool, match func(untyped) (bool, error), yield func(untyped, error) bool) {
	b, t := busOf(to), of.(*eventType)
	defer b.keep()
	var none untyped
	if err := b.findable(t, q, missing); err != nil {
		yield(none, err)
		return
	}
	filter := engine.Filter{Filter: event.Filter{
		Types: []string{t.Name()}, Since: q.Since, Until: q.Until, Status: q.Status, CorrelationID: q.CorrelationID, ChildOf: q.ChildOf,
	}}
	page := event.Page{Limit: event.DefaultLimit}
	if q.Limit > 0 && all {
		page.Limit = min(q.Limit, page.Limit)
	}
	for found := 0; ; {
		events, next, err := b.events(ctx, filter, page)
		if err != nil {
			yield(none, public(err))
			return
		}
		for i := range events {
			one := &events[i]
			event, err := t.stored(&engine.Record{
				ID: one.ID, Version: one.Version, Payload: one.Payload, Metadata: one.Metadata, CreatedAt: one.PublishedAt,
			})
			ok := true
			if err == nil {
				ok, err = match(event)
			}
			switch {
			case err != nil:
				if !yield(none, err) {
					return
				}
				continue
			case !ok:
				continue
			case !yield(event, nil):
				return
			}
			if found++; found == q.Limit {
				return
			}
		}
		if next == "" {
			return
		}
		page.After = next
	}
}

// findable refuses what Find cannot look for.
func (b *innerBus) findable(t *eventType, q Query, missing bool) error {
	if missing {
		return &QueryError{t.Name(), "match", "a function is nil: leave it out"}
	}
	if err := q.problem(t.Name()); err != nil {
		return err
	}
	if b.catalogue.Lookup(t.Name()) == nil {
		return &UnknownTypeError{EventType: t.Name()}
	}
	return b.accepts()
}

// events returns a page of events.
func (b *innerBus) events(ctx context.Context, f engine.Filter, p event.Page) ([]event.Event, string, error) {
	history, err := b.history(ctx)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, "", err
	}
	found, err := history.Events(ctx, f, p, 0)
	return found.Events, found.Next, err
}
