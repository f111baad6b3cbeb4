package runtime

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// NotInspectableError says that the engine of a bus keeps events, but cannot list them:
// what reads or changes the history of events does not work with it.
type NotInspectableError struct {
	Engine string // the Go type of the engine
}

// Error names the engine.
func (e *NotInspectableError) Error() string {
	return fmt.Sprintf("the engine %s of this bus cannot look into its log: the history of events is not available with it", e.Engine)
}

// history is the log of a bus as an operator sees it. It is opened when it is first
// needed, and closed with the bus. It holds no reference to the bus, so that it does not
// keep a bus that is dropped.
type history struct {
	mu     sync.Mutex
	log    engine.Inspection
	closed bool
}

// history returns the log of the bus, to look into it. The actor of what is changed there
// is the program. The error is [ErrShutdown] once the bus is shut down, a
// *[NotInspectableError], or a *[event.StorageError]. Whoever uses it keeps the bus alive (keep).
func (b *innerBus) history(ctx context.Context) (engine.Inspection, error) {
	if err := b.accepts(); err != nil {
		return nil, err
	}
	h := b.past
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, ErrShutdown
	}
	if h.log != nil {
		return h.log, nil
	}
	inspectable, ok := b.config.engine.(engine.Inspectable)
	if !ok {
		return nil, &NotInspectableError{Engine: fmt.Sprintf("%T", b.config.engine)}
	}
	log, err := inspectable.Inspect(ctx, b.log.Traits().Target, program())
	if err != nil {
		return nil, public(err)
	}
	h.log = log
	return log, nil
}

// close closes the log, if it was opened. Whoever reads it at this moment gets
// engine.ErrClosed, and whoever changes it is waited for.
func (h *history) close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	if h.log == nil {
		return nil
	}
	return h.log.Close()
}

// Query chooses events of one type for [Find] and [Await]: those to which everything
// that is set applies. The zero value chooses all.
type Query struct {
	// Since and Until bound when an event was published: at Since or later, and before
	// Until. A publisher whose clock is an hour behind the clocks of others may be missed.
	Since, Until time.Time
	// Status is pending, processing, done or dlq, as "busgen events list" shows it: the
	// states of the event's deliveries taken together, at the moment of the look.
	Status        string
	CorrelationID string    // that of [WithCorrelationID], or inherited from the event whose handler published it
	ChildOf       uuid.UUID // the id of the event whose handler published it
	// Limit is how many events Find yields at most, matched ones only; 0 for no limit.
	Limit int
}

// QueryError says which part of a [Query] cannot be used. Nothing was read.
type QueryError struct {
	EventType string
	Field     string // of the Query: Status, or match for the function
	Problem   string
}

// Error names the event type and the field.
func (e *QueryError) Error() string {
	return fmt.Sprintf("query of %s events: %s: %s", e.EventType, e.Field, e.Problem)
}

// problem returns what no query may have.
func (q Query) problem(eventType string) error {
	switch {
	case q.Status != "" && !slices.Contains(engine.Statuses(), q.Status):
		return &QueryError{eventType, "Status", fmt.Sprintf("there is no status %q: use one of %s", q.Status, strings.Join(engine.Statuses(), ", "))}
	case q.Limit < 0:
		return &QueryError{eventType, "Limit", fmt.Sprintf("it is %d; 0 stands for no limit", q.Limit)}
	}
	return nil
}

// EventError says that an event in the log cannot be shown to the program: its payload
// cannot be decoded, or a function that looked at it has panicked. The event is as it
// was.
type EventError struct {
	ID        uuid.UUID
	EventType string
	Err       error // a *[PanicError] if the function has panicked
}

// Error names the event.
func (e *EventError) Error() string {
	return fmt.Sprintf("event %s of type %s: %v", e.ID, e.EventType, e.Err)
}

// Unwrap returns the cause.
func (e *EventError) Unwrap() error { return e.Err }

// stored makes the event of a record that no handler has been given. Its payload is what payload points to.
func (t *eventType) stored(r *engine.Record) (e untyped, err error) {
	payload := reflect.New(t.of).Interface()
	if err := t.parse(r, payload); err != nil {
		return untyped{}, &EventError{r.ID, t.Name(), err}
	}
	h := Head{ID: r.ID, Type: t.Name(), Version: r.Version, PublishedAt: r.CreatedAt.UTC()}
	setLineage(&h, r.Metadata)
	return untyped{h, payload}, nil
}

// matched calls functions of the program, all of which have to agree. A panic is an
// *EventError.
func matched[T any](e Event[T], match []func(Event[T]) bool) (ok bool, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			ok, err = false, &EventError{e.ID, e.Type, fmt.Errorf("the match function has panicked: %w", newPanicError(cause))}
		}
	}()
	for _, f := range match {
		if !f(e) {
			return false, nil
		}
	}
	return true, nil
}

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

// Tree returns an event of the bus with its descendants: the events that its handlers have
// published with their contexts, its dead-letter notices, and what their handlers have
// published in turn. It has at most 10,000 events, those nearest to the event first; a node
// whose children are not all there is Truncated.
//
// The events are read one after the other, so that a tree that grows may be read in part;
// [Receipt.WaitTree] waits until it is complete. Descendants of an event that was pruned
// ([WithRetention]) are missing. Tree may be called from any goroutine, in handlers too. The
// errors are:
//
//   - a *NotFoundError of package inspect, if the bus has no such event
//   - *[NotInspectableError], if the engine of the bus cannot list events
//   - [ErrShutdown], once the bus is shut down
//   - *[event.StorageError], when the file cannot be read
//   - the error of ctx, if it ends
func Tree(ctx context.Context, bus *Bus, id uuid.UUID) (*event.TreeNode, error) {
	b := busOf(bus)
	defer b.keep()
	history, err := b.history(ctx)
	if err != nil {
		return nil, err
	}
	tree, err := engine.ReadTree(ctx, history, id, engine.TreeLimit)
	return tree, public(err)
}

// TreeOutcome says what became of an event and of all its descendants.
type TreeOutcome struct {
	Outcomes []Outcome // that of the event, and those of its descendants, parents before their children
}

// Err returns nil if [Outcome.Err] does for the event and each of its descendants. Otherwise it
// returns all of these errors, joined.
func (o TreeOutcome) Err() error {
	var errs []error
	for _, one := range o.Outcomes {
		errs = append(errs, one.Err())
	}
	return errors.Join(errs...)
}

// WaitTree waits until every subscription of the file has settled the event and all of its
// descendants: those that its handlers publish with their contexts, its dead-letter
// notices, and theirs in turn. It waits for an event, reads its children, and waits for
// them. Memory grows with the number of descendants. Delayed descendants are waited for,
// too: give ctx a deadline.
//
// The outcomes have no limit of 10,000, as [Tree] has. On an error the outcomes are those
// of the events that are settled. The errors are those of [Receipt.Wait], and a
// *[NotInspectableError] if the engine of the bus cannot list events.
func (r *Receipt) WaitTree(ctx context.Context) (TreeOutcome, error) {
	var tree TreeOutcome
	if r.staged {
		return tree, ErrStaged
	}
	seen := map[uuid.UUID]bool{r.ID: true} // a damaged log may have circles
	for events := []Receipt{*r}; len(events) > 0; events = events[1:] {
		outcome, err := events[0].Wait(ctx)
		if err != nil {
			return tree, err
		}
		tree.Outcomes = append(tree.Outcomes, outcome)
		children, err := r.bus.(*innerBus).childrenOf(ctx, outcome.ID)
		if err != nil {
			return tree, err
		}
		for _, child := range children {
			if !seen[child.ID] {
				seen[child.ID] = true
				events = append(events, Receipt{ID: child.ID, bus: r.bus, seq: child.Seq})
			}
		}
	}
	return tree, nil
}

// childrenOf returns the children of an event, the oldest first.
func (b *innerBus) childrenOf(ctx context.Context, id uuid.UUID) ([]event.Event, error) {
	defer b.keep()
	history, err := b.history(ctx)
	if err != nil {
		return nil, err
	}
	const all = 1 << 30
	children, _, err := engine.ChildrenOf(ctx, history, id, all)
	return children, public(err)
}
