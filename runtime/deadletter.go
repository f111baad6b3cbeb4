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
	// has given up, its Attempt the number of failed attempts. It is the last field, so that
	// the others are where they are in a letter.
	Event Event[T]
}

// letter has the fields of a [DeadLetter] without its event. See [head].
type letter struct {
	Raw         Raw
	Undecodable error

	Reason    string
	Kind      string
	LastError string
	DeadAt    time.Time
}

// untypedLetter is a dead letter with a pointer to the payload of its event.
type untypedLetter struct {
	letter
	event untyped
}

// letterOf fills in a DeadLetter[T], to which to points, for a payload of type T.
func (u *untypedLetter) letterOf(to reflect.Value) {
	*(*letter)(to.UnsafePointer()) = u.letter
	event := to.Elem().FieldByName("Event").Addr()
	*(*head)(event.UnsafePointer()) = u.event.head
	event.Elem().FieldByName("Payload").Set(reflect.ValueOf(u.event.payload).Elem())
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
	handle := func(ctx context.Context, h head, of any) error {
		e := reflect.New(takes)
		*(*head)(e.UnsafePointer()) = h
		to := e.Elem().FieldByIndex(payload.Index)
		if u, untyped := of.(*untypedLetter); untyped {
			u.letterOf(to.Addr())
		} else {
			to.Set(reflect.ValueOf(of))
		}
		err, _ := call.Call([]reflect.Value{reflect.ValueOf(ctx), e.Elem()})[0].Interface().(error)
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
		value := reflect.New(payload.Type)
		letter.letterOf(value)
		return s.around(a.Given(), eventOf(a, name, value.Elem().Interface()))
	}, innermost(s, payload.Type, func(ctx context.Context, e Event[any]) error {
		return handle(ctx, *headOf(&e), e.Payload)
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
	if d.Type[0] == engine.OwnType {
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
	l := &untypedLetter{
		letter: letter{Raw: o.Payload, Reason: o.Reason, Kind: o.Kind, LastError: o.Error, DeadAt: o.DeadAt},
		event: untyped{
			head: head{
				ID: o.ID, Type: t.spec.Name, Version: max(o.Version, 1), PublishedAt: o.PublishedAt,
				Subscription: o.Subscription, Attempt: o.Failures, MaxAttempts: o.Failures,
				Handed: a.Handed(),
			},
			payload: reflect.New(t.of).Interface(),
		},
	}
	setLineage(&l.event.head, o.Metadata)
	decode := func() error { return t.parse(&engine.Record{Version: o.Version, Payload: o.Payload}, l.event.payload) }
	undecodable, returned := guard.Apart(decode) // its code may end the goroutine, as it may have done before
	if l.Undecodable = undecodable; !returned {
		l.Undecodable = t.decodingExited()
	}
	return l, nil
}
