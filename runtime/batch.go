package runtime

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/internal/dispatch"
	"github.com/busgen/busgen/runtime/internal/dispatch/errs"
	"github.com/busgen/busgen/runtime/observe"
)

// BatchHandler handles several events of one type at once. They are in the order of the
// log, each with its own Attempt. Nil means that all of them are handled. A *[BatchError],
// as it is or wrapped, names those that have failed, by their index in events; the others
// are handled. With any other error, a panic, or outliving ctx, all of them have failed.
//
// Each event that has failed is tried again by the retry policy, at a time of its own and in
// whichever batch there is then. An event that has failed before gets a batch of its own if
// its next attempt may be the last one, by the policy, that of a class of errors or the
// expiry: so it does not become a dead letter because of others. [Permanent], [RetryAfter],
// [Snooze] and [Discard] work for one event in a BatchError, and for all as the error of the
// handler.
//
// There is one timeout for the batch, and ctx ends with it. What is published with ctx is
// stored if every event of the batch is handled, in the same transaction; its parent is the
// event with the most hops, the first of several. What is published with [ItemContext] is
// stored if that event is handled. [Receipt.Wait] and [Request] return [ErrBatchWait] with
// ctx.
//
// An event that expires while the handler is at work becomes a dead letter, and ctx goes on
// for the others; when all have expired it ends. A handler that ignores the end of ctx is
// left behind like any [Handler].
type BatchHandler[T any] func(ctx context.Context, events []Event[T]) error

// WithBatch sets how many events a batch has at most, from 1 to 1000, and how long it waits
// for more after the first, from 0 to 1h. It is for [SubscribeBatch], and overrides what the
// catalogue says. The default is 100 events and 100 ms.
func WithBatch(size int, wait time.Duration) SubscribeOption {
	return func(c *subscribeConfig) error {
		if size == 0 {
			return fmt.Errorf("WithBatch: a batch of 0 events: it must be from 1 to 1000")
		}
		b := declare.Batch{Size: size, Wait: wait}
		if err := b.Validate(); err != nil {
			return fmt.Errorf("WithBatch: %w", err)
		}
		c.own.BatchSize, c.own.BatchWait = &b.Size, &b.Wait
		return nil
	}
}

// BatchError is returned by a [BatchHandler] to name the events that have failed. All others
// of the batch are handled, so one that names no event means that all are. If an index is not
// one of the batch, all events have failed.
//
//	var failed runtime.BatchError
//	for i, e := range events {
//		failed.Set(i, send(e))
//	}
//	return failed.Err()
//
// Err returns nil if nothing has failed.
//
//	type BatchError struct {
//		// Items has the error of each that has failed, by its index in the batch, from 0. A nil
//		// error says that the event has not failed.
//		Items map[int]error
//	}
//
//	func (e *BatchError) Err() error
//	func (e *BatchError) Set(i int, err error)
type BatchError = errs.BatchError

// ErrBatchWait is returned by [Receipt.Wait], [Request] and [Collect] with the context of a
// [BatchHandler]. Nothing was done.
var ErrBatchWait = errs.ErrBatchWait

// ItemContext returns the ctx of a [BatchHandler] for the event at index i of its batch: what
// is published with it has that event as its parent, and is stored if that event is handled,
// whatever becomes of the others. ctx may be derived from that of the handler. Any other
// context is returned as it is, so that a test can call a handler directly. It panics if the
// batch has no such event. It is safe for concurrent use.
func ItemContext(ctx context.Context, i int) context.Context {
	a := dispatch.FromContext(ctx)
	if a == nil || a.Batch() == nil {
		return ctx
	}
	if n := len(a.Batch().Items()); i < 0 || i >= n {
		panic(fmt.Sprintf("runtime.ItemContext: there is no item %d in a batch of %d events", i, n))
	}
	return a.Batch().ItemContext(ctx, i)
}

// SubscribeBatch calls handler for the events of one type, several at a time. Take the event type
// from the generated package: runtime.SubscribeBatch(bus, events.OrderPlacedType, "export", handler).
//
// It is a subscription like any other: durable, retried, dead-lettered, with the same
// options and errors as [Subscribe]; each event has its own attempts, retries and dead
// letter. A *[SubscribeError] also refuses [InGroup], [Ephemeral], [WithHandlerMiddleware],
// and [WithStrictOrder] for an event type without partition_by. A [Middleware] of the bus is around
// handlers of one event, and is not called for batches.
//
// [WithConcurrency] lets several batches run at once. With it, events of one partition key
// are in one batch, in the order of the log, or in batches that run one after the other. With
// [WithStrictOrder] a batch has one event of each key.
//
// An event that cannot be decoded becomes a dead letter, and the handler gets the others.
// When the subscription is paused, unsubscribed or shut down, or its circuit breaker opens,
// events that wait for their batch to fill go back. Each event is a sample for the breaker.
//
// If the process dies while batches run, their events run in two halves after the next
// start, one after the other and with nothing beside them. If it dies again, the half that
// ran is halved, until one event has ended the process alone. Only for that one these are
// failed attempts; the Attempt of the others rises with each execution.
func SubscribeBatch[T Payload](bus *Bus, t *EventType[T], name string, handler BatchHandler[T], opts ...SubscribeOption) (*Subscription, error) {
	given := any(handler) // see eventType
	return subscribeBatch(bus, t.of, name, handler == nil, func(ctx context.Context, list *eventList) error {
		events := make([]Event[T], len(list.events))
		for i, e := range list.events {
			events[i] = typed[T](e.head, e.payload)
		}
		list.giveAll()
		return given.(BatchHandler[T])(ctx, events)
	}, opts)
}

// subscribeBatch calls handler with events, which are its own until it calls giveAll.
func subscribeBatch(bus *Bus, of AnyEventType, name string, none bool, handler func(context.Context, *eventList) error, opts []SubscribeOption) (*Subscription, error) {
	t := of.(*eventType)
	s := &innerSubscription{bus: busOf(bus), name: name, pattern: t.spec.Name}
	if !none {
		s.batched = func(b *dispatch.Batch) error {
			given := lists.Get().(*eventList)
			given.of = t
			for a := range b.Prepare() {
				payload, err := t.payloadFor(s, a)
				if err != nil {
					b.Reject(a, err)
					continue
				}
				b.Hand(a)
				given.events = append(given.events, untyped{newHead(a, name), payload})
			}
			switch {
			case b.Over(): // while the program's code decoded an event
				return errs.ErrOver
			case len(given.events) == 0:
				return nil
			}
			return handler(b.Context(), given)
		}
	}
	return s.subscribe(nil, nil, opts)
}

// lists hold the events of batches before they are typed. Those in the pool are empty.
var lists = sync.Pool{New: func() any { return new(eventList) }}

type eventList struct {
	of     any // *eventType
	events []untyped
}

// untyped is an event with a pointer to its payload.
type untyped struct {
	head    Head
	payload any
}

// giveAll takes the payloads of events back, and the list itself.
func (l *eventList) giveAll() {
	of := l.of.(*eventType)
	for i := range l.events {
		of.give(l.events[i].payload)
	}
	clear(l.events)
	l.of, l.events = nil, l.events[:0]
	lists.Put(l)
}

// batchProblem says why the options do not go with batches, or without.
func (s *innerSubscription) batchProblem() string {
	switch {
	case s.batched == nil && s.config.own.BatchSize != nil:
		return "WithBatch is for subscriptions with batches: use SubscribeBatch, or leave it out"
	case s.batched == nil:
	case s.config.ephemeral:
		return "an ephemeral subscription has no batches: collect the events in the handler"
	case len(s.config.middleware) > 0:
		return "WithHandlerMiddleware is around handlers of one event, and does not go with batches: wrap the function itself"
	case s.config.group != "":
		return "a subscription with batches cannot be in a group, whose members handle events one by one"
	}
	return ""
}

// batchLimits returns the size of batches and their wait, as they are in force.
func (s *innerSubscription) batchLimits() (size int, wait time.Duration) {
	b := s.inForce.Load().types[s.pattern].Batch.WithDefaults()
	return b.Size, b.Wait
}

type batchCounts struct {
	batches, events, timedOut atomic.Uint64
	took                      atomic.Int64 // all batches together, in nanoseconds
	alarm                     batchAlarm
}

// batchStats returns nil for a subscription without batches.
func (s *innerSubscription) batchStats() *observe.BatchStats {
	if s.batched == nil {
		return nil
	}
	return &observe.BatchStats{Batches: s.batches.batches.Load(), Events: s.batches.events.Load(), TimedOut: s.batches.timedOut.Load()}
}

// batchEnded counts a batch, and returns what tells the observers; nil if there are none.
func (s *innerSubscription) batchEnded(e dispatch.BatchEnd) (told func()) {
	s.batches.batches.Add(1)
	s.batches.events.Add(uint64(e.Size))
	s.batches.took.Add(int64(e.Took))
	if e.TimedOut {
		s.batches.timedOut.Add(1)
	}
	info := observe.BatchInfo{
		Subscription: s.name, Type: s.pattern, Size: e.Size, Done: e.Done, Failed: e.Failed,
		TimedOut: e.TimedOut, Started: e.Started, Took: e.Took,
	}
	o := &s.bus.observers
	if !o.any() {
		s.alertBatch(info)
		return nil
	}
	return func() {
		tell(o, toBatch, info)
		(*counter)(s).endedBatch(e.Whole, info)
		s.alertBatch(info)
	}
}

// batchAlarm is what a subscription knows of its batches that have failed. An alert is
// given for the first batch of critical events that fails as a whole, and then not until
// a batch has handled something: one outage is one alert.
type batchAlarm struct {
	given    atomic.Bool
	critical atomic.Pointer[string] // the last error of a critical event; nil if a batch has handled something since
}

// failed notes that an event of a batch has failed.
func (m *batchAlarm) failed(critical bool, text string) {
	if critical {
		m.critical.Store(&text)
	}
}

// alertBatch gives an alert if all of a batch has failed, and it had critical events.
func (s *innerSubscription) alertBatch(info observe.BatchInfo) {
	m := &s.batches.alarm
	if info.Done > 0 {
		m.given.Store(false)
		m.critical.Store(nil)
		return
	}
	if info.Failed < info.Size && !info.TimedOut {
		return
	}
	text := m.critical.Load()
	if text == nil && s.bus.catalogue.Lookup(s.pattern).Priority() != PriorityCritical || m.given.Swap(true) {
		return
	}
	alert := observe.AlertInfo{
		AttemptInfo: observe.AttemptInfo{Type: info.Type, Subscription: info.Subscription, Started: info.Started, Took: info.Took},
		Reason:      "batch", Batch: &info,
	}
	if text != nil {
		alert.LastError = *text
	}
	s.bus.config.logger.Error("a batch of critical events has failed as a whole", "subscription_id", info.Subscription, "event_type", info.Type,
		"events", info.Size, "timed_out", info.TimedOut, "error", alert.LastError, "alert", "critical")
	later(&s.bus.observers, toAlert, alert)
}
