package runtime

import (
	"context"
	"encoding/json"
	"reflect"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/dispatch"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/guard"
)

// DeadLetter is the payload of a subscription to dead letters: an event that
// another subscription has given up on. What that subscription had tried is in
// the dead letter itself, which package inspect reads.
type DeadLetter[T any] struct {
	// Raw is the payload as it is stored.
	Raw Raw
	// Undecodable is why Event.Payload is the zero value, or nil.
	Undecodable error

	Reason    string    // max_attempts, permanent, decode, crash, expired or max_snoozes
	Kind      string    // how the last attempt failed: error, panic, goexit, timeout, decode or interrupted; empty if nothing was tried
	LastError string    // of the last attempt; empty if nothing was tried
	DeadAt    time.Time // UTC

	// Event is the event as it was published. Its Subscription is the one that
	// has given up, its Attempt the number of failed attempts.
	Event Event[T]
}

// untypedLetter is a dead letter with a pointer to the payload of its event.
type untypedLetter DeadLetter[any]

// letterOf returns it as a DeadLetter[T], which is the type of.
func (u *untypedLetter) letterOf(of reflect.Type) reflect.Value {
	from, to := reflect.ValueOf(u).Elem(), reflect.New(of).Elem()
	for i := range from.NumField() {
		if of.Field(i).Name == "Event" {
			to.Field(i).Set(eventFor(of.Field(i).Type, u.Event.Head, reflect.ValueOf(u.Event.Payload).Elem()))
		} else {
			to.Field(i).Set(from.Field(i))
		}
	}
	return to
}

// eventFor makes an Event[T], which is the type of, for a payload of type T.
func eventFor(of reflect.Type, h Head, payload reflect.Value) reflect.Value {
	e := reflect.New(of).Elem()
	e.FieldByName("Head").Set(reflect.ValueOf(h))
	e.FieldByName("Payload").Set(payload)
	return e
}

// SubscribeDead calls handler for every event of one type that any subscription
// dead-letters from now on. It is handed over in the transaction that makes it a
// dead letter, so none is missed, whatever crashes. Generated code has a typed
// function for each event type, which calls this one.
//
// The dead letter stays where it is: a handler that wants it tried again uses
// package inspect. The subscription is durable and retried like any other, but what
// it dead-letters itself is not handed to anyone.
func SubscribeDead[T Payload](bus *Bus, t *EventType[T], name string, handler Handler[DeadLetter[T]], opts ...SubscribeOption) (*Subscription, error) {
	return subscribeDead(bus, t.of, name, handler == nil, handler, opts)
}

// subscribeDead calls handler, a Handler[DeadLetter[T]], by reflection: dead letters are few, and code that knows T
// would be made for every event type.
func subscribeDead(bus *Bus, of AnyEventType, name string, none bool, handler any, opts []SubscribeOption) (*Subscription, error) {
	t := of.(*eventType)
	s := &innerSubscription{bus: busOf(bus), name: name, pattern: engine.DeadType(t.spec.Name), dead: true}
	if none {
		return s.subscribe(nil, nil, opts)
	}
	call := reflect.ValueOf(handler)
	takes := call.Type().In(1) // Event[DeadLetter[T]]
	payload, _ := takes.FieldByName("Payload")
	handle := func(ctx context.Context, h Head, of any) error {
		letter := reflect.ValueOf(of)
		if u, untyped := of.(*untypedLetter); untyped {
			letter = u.letterOf(payload.Type)
		}
		err, _ := call.Call([]reflect.Value{reflect.ValueOf(ctx), eventFor(takes, h, letter)})[0].Interface().(error)
		return err
	}
	return s.subscribe(func(a *dispatch.Attempt) error {
		letter, err := t.deadLetterOf(a)
		if err != nil || a.Type != s.pattern {
			return s.mismatch(a.Type)
		}
		if s.around == nil {
			return handle(a.Given(), newHead(a, name), letter)
		}
		return s.around(a.Given(), eventOf(a, name, letter.letterOf(payload.Type).Interface()))
	}, innermost(s, payload.Type, func(ctx context.Context, e Event[any]) error {
		return handle(ctx, e.Head, e.Payload)
	}), opts)
}

// notice is the payload of a dead-letter notice: the event that announces a dead letter.
type notice struct {
	ID           uuid.UUID       `json:"id"`
	Type         string          `json:"type"`
	Version      int             `json:"version,omitempty"`
	Payload      []byte          `json:"payload"` // in base64: it may not be JSON
	Metadata     json.RawMessage `json:"metadata,omitempty"`
	PublishedAt  time.Time       `json:"published_at"`
	Subscription string          `json:"subscription"`
	Failures     int             `json:"failures"`
	Reason       string          `json:"reason"`
	Kind         string          `json:"kind,omitempty"`
	Error        string          `json:"error,omitempty"`
	DeadAt       time.Time       `json:"dead_at"`
}

// notice returns the dead-letter notice for a delivery. A notice that becomes a dead
// letter itself gets none.
func (b *innerBus) notice(subscription string, d *engine.Delivery, v engine.Disposition) []engine.Record {
	if engine.IsOwn(d.Type) {
		return nil
	}
	o := notice{
		ID: d.ID, Type: d.Type, Version: d.Version, Payload: d.Payload, Metadata: d.Metadata, PublishedAt: d.CreatedAt,
		Subscription: subscription, Failures: d.Failures, Reason: v.Reason, DeadAt: engine.Now(),
	}
	if v.Attempt != nil {
		o.Failures++
		o.Kind, o.Error = v.Attempt.Kind, v.Attempt.Error
	}
	payload, err := json.Marshal(o)
	if err != nil { // metadata that is not JSON
		b.config.logger.Error("a dead-letter notice cannot be stored", "event_id", d.ID, "error", err)
		return nil
	}
	metadata, err := noticeMetadata(d, subscription)
	if err != nil { // strings can always be written
		metadata = d.Metadata
	}
	return []engine.Record{{
		ID: engine.NewID(), Type: engine.DeadType(d.Type), Payload: payload, Metadata: metadata, CreatedAt: o.DeadAt, IfWanted: true,
	}}
}

func (t *eventType) deadLetterOf(a *dispatch.Attempt) (*untypedLetter, error) {
	var o notice
	if err := json.Unmarshal(a.Payload, &o); err != nil {
		return nil, err
	}
	l := &untypedLetter{Raw: o.Payload, Reason: o.Reason, Kind: o.Kind, LastError: o.Error, DeadAt: o.DeadAt}
	l.Event.Head = Head{
		ID: o.ID, Type: t.spec.Name, Version: max(o.Version, 1), PublishedAt: o.PublishedAt,
		Subscription: o.Subscription, Attempt: o.Failures, MaxAttempts: o.Failures,
		attempt: a.Handed(),
	}
	l.Event.Payload = reflect.New(t.of).Interface()
	setLineage(&l.Event.Head, o.Metadata)
	decode := func() error { return t.parse(&engine.Record{Version: o.Version, Payload: o.Payload}, l.Event.Payload) }
	undecodable, returned := guard.Apart(decode) // its code may end the goroutine, as it may have done before
	if l.Undecodable = undecodable; !returned {
		l.Undecodable = t.decodingExited()
	}
	return l, nil
}
