package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"sync"

	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/background"
	"github.com/busgen/busgen/runtime/internal/dispatch"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// SubscribeInbox publishes what programs without a bus send to this one, programs in other languages among them. How
// they do that is the matter of the engine: docs/jetstream.md has the contract. The bus takes messages over while it
// dispatches.
//
// Each message is checked as [PublishJSON] does, and published with its id as the dedupe key, within a scope of their
// own: a message that is sent twice is one event. The event is a child of the message, and is stored together with the
// success of handling it. A message that is refused is a dead letter of this subscription: its error says why, and
// retrying it checks it again, for example when the program knows the type.
//
// The subscription is durable, and has the name and the options of any other, but that it begins with the oldest message.
// All programs that subscribe to it have the event types that others send. A file has no inbox, and the view outbox
// instead: the error matches [errors.ErrUnsupported].
func SubscribeInbox(bus *Bus, name string, opts ...SubscribeOption) (*Subscription, error) {
	return busOf(bus).subscribeInbox(name, opts)
}

func (b *innerBus) subscribeInbox(name string, opts []SubscribeOption) (*Subscription, error) {
	log, ok := b.log.(engine.Inbox)
	if !ok {
		return nil, &SubscribeError{Subscription: name, Problem: errNoInbox.Error(), Err: errNoInbox}
	}
	ctx, end := b.subscribing()
	err := log.OpenInbox(ctx)
	end()
	if err != nil {
		return nil, b.notSubscribed(ctx, public(err))
	}
	subscription, err := b.subscribeSent(name, engine.InboxType, opts)
	if err == nil {
		b.inbox.subscribed()
	}
	return subscription, err
}

// subscribeSent subscribes to a type of the bus's own whose payloads are events that were sent. It publishes them.
func (b *innerBus) subscribeSent(name, eventType string, opts []SubscribeOption) (*Subscription, error) {
	s := &innerSubscription{bus: b, name: name, pattern: eventType, raw: true, inbox: true}
	s.config.fromBeginning = true
	scope := eventType[1:] // in which the ids of its events are unique
	takes := func(ctx context.Context, e Event[any]) error { return b.publishSent(ctx, e.Payload.(Raw), scope) }
	return s.subscribe(func(a *dispatch.Attempt) error {
		return call(a, s, slices.Clone(Raw(a.Payload)), takes)
	}, innermost(s, reflect.TypeFor[Raw](), takes), opts)
}

var errNoInbox = &event.UnsupportedError{
	Engine: "a bus in a file", What: "be sent events",
	Hint: "other programs publish to it with INSERT INTO outbox",
}

// publishSent publishes what was sent, as part of the success of the handler that ctx is of.
func (b *innerBus) publishSent(ctx context.Context, payload []byte, scope string) error {
	var sent engine.Sent
	if err := json.Unmarshal(payload, &sent); err != nil {
		return Permanent(fmt.Errorf("this is no message of an inbox: %w", err))
	}
	if sent.Problem != "" {
		return Permanent(errors.New(sent.Problem))
	}
	if sent.ID == "" {
		return Permanent(errors.New("the message has no id, by which one that is sent twice would be known"))
	}
	_, err := PublishJSON(ctx, &Bus{b}, []JSONEvent{{
		Type: sent.Type, Version: sent.Version, Payload: sent.Payload, Metadata: sent.Metadata, DedupeKey: sent.ID, DedupeScope: scope,
	}})
	if refusesForGood(err) {
		return Permanent(err)
	}
	return err
}

// refusesForGood reports whether an error of a publish says that the event is wrong, and not that it cannot be stored
// at the moment.
func refusesForGood(err error) bool {
	switch refusalOf(err) {
	case "middleware", "invalid", "too_large", "metadata", "option", "conflict", "unknown_type":
		return err != nil
	}
	return false
}

// sentTypes stand for what others have sent where subscriptions need an event type.
var sentTypes = map[string]AnyEventType{engine.InboxType: sentType(engine.InboxType), engine.RelayType: sentType(engine.RelayType)}

func sentType(name string) AnyEventType {
	settings := declare.DefaultSettings()
	settings.Breaker.Off = true // what one sender does wrong does not hold up the others
	t := Define(Spec[sentPayload]{Name: "sent", Settings: settings}).Any()
	typeOf(t).spec.Name = name // no catalogue may call one so
	return t
}

// sentPayload is the payload of sentTypes, which is handed over as it is stored.
type sentPayload struct{}

// Validate implements [Payload].
func (sentPayload) Validate() error { return nil }

// inbox takes over what others send, once the program has subscribed to that.
type inbox struct {
	wanted chan struct{} // closed then
	once   sync.Once
}

func newInbox() *inbox { return &inbox{wanted: make(chan struct{})} }

func (i *inbox) subscribed() { i.once.Do(func() { close(i.wanted) }) }

// run takes over what others send until ctx ends.
func (i *inbox) run(ctx context.Context, log engine.Inbox, logger *slog.Logger) {
	select {
	case <-i.wanted:
		background.TakeIn(ctx, log, logger)
	case <-ctx.Done():
	}
}
