package runtime

import (
	"context"
	"encoding/json"
	"reflect"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/dispatch"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// DeadLetter is the payload of a subscription to dead letters: an event that
// another subscription has given up on. What that subscription had tried is in
// the dead letter itself, which package inspect reads.
type DeadLetter[T any] struct {
	// Event is the event as it was published. Its Subscription is the one that
	// has given up, its Attempt the number of failed attempts.
	Event Event[T]
	// Raw is the payload as it is stored.
	Raw Raw
	// Undecodable is why Event.Payload is the zero value, or nil.
	Undecodable error

	Reason    string    // max_attempts, permanent, decode, crash, expired or max_snoozes
	Kind      string    // how the last attempt failed: error, panic, goexit, timeout, decode or interrupted; empty if nothing was tried
	LastError string    // of the last attempt; empty if nothing was tried
	DeadAt    time.Time // UTC
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
	if handler == nil {
		return t.subscribeDead(bus, name, nil, nil, nil, opts)
	}
	return t.subscribeDead(bus, name, reflect.TypeFor[DeadLetter[T]](), func(l DeadLetter[any]) any {
		return DeadLetter[T]{
			Event: withPayload(l.Event, *l.Event.Payload.(*T)), Raw: l.Raw, Undecodable: l.Undecodable,
			Reason: l.Reason, Kind: l.Kind, LastError: l.LastError, DeadAt: l.DeadAt,
		}
	}, func(ctx context.Context, e Event[any]) error {
		return handler(ctx, withPayload(e, e.Payload.(DeadLetter[T])))
	}, opts)
}

// subscribeDead calls handler with payloads of a type, which typed makes.
func (t *eventType) subscribeDead(bus *Bus, name string, takes reflect.Type, typed func(DeadLetter[any]) any, handler Next, opts []SubscribeOption) (*Subscription, error) {
	s := &Subscription{bus: bus, name: name, pattern: engine.DeadType(t.spec.Name), dead: true}
	if handler == nil {
		return s.subscribe(nil, nil, opts)
	}
	handle := func(a *dispatch.Attempt) error {
		letter, err := t.deadLetterOf(a)
		if err != nil || a.Type != s.pattern {
			return s.mismatch(a.Type)
		}
		return call(a, s, typed(letter), handler)
	}
	return s.subscribe(handle, innermost(s, takes, handler), opts)
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
func (b *Bus) notice(subscription string, d *engine.Delivery, v engine.Disposition) []engine.Record {
	if d.Type[0] == engine.OwnType {
		return nil
	}
	o := notice{
		ID: d.ID, Type: d.Type, Version: d.Version, Payload: d.Payload, Metadata: d.Metadata, PublishedAt: d.CreatedAt,
		Subscription: subscription, Failures: d.Failures, Reason: v.Reason, DeadAt: time.Now().UTC(),
	}
	if v.Attempt != nil {
		o.Failures++
		o.Kind, o.Error = v.Attempt.Kind, v.Attempt.Error
	}
	id, err := uuid.NewV7()
	if err != nil {
		b.config.logger.Error("a dead-letter notice cannot be stored", "event_id", d.ID, "error", err)
		return nil
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
		ID: id, Type: engine.DeadType(d.Type), Payload: payload, Metadata: metadata, CreatedAt: o.DeadAt, IfWanted: true,
	}}
}

func (t *eventType) deadLetterOf(a *dispatch.Attempt) (letter DeadLetter[any], err error) {
	var o notice
	if err := json.Unmarshal(a.Payload, &o); err != nil {
		return letter, err
	}
	letter = DeadLetter[any]{
		Event: Event[any]{
			ID: o.ID, Type: t.spec.Name, Version: max(o.Version, 1), PublishedAt: o.PublishedAt,
			Subscription: o.Subscription, Attempt: o.Failures, MaxAttempts: o.Failures,
			attempt: a,
		},
		Raw: o.Payload, Reason: o.Reason, Kind: o.Kind, LastError: o.Error, DeadAt: o.DeadAt,
	}
	setLineage(&letter.Event, o.Metadata)
	payload := reflect.New(t.of).Interface()
	letter.Event.Payload, letter.Undecodable = payload, t.parse(&engine.Record{Version: o.Version, Payload: o.Payload}, payload)
	return letter, nil
}
