package runtime

import (
	"context"
	"reflect"

	"github.com/busgen/busgen/runtime/ask"
	"github.com/busgen/busgen/runtime/gen/deep"
	"github.com/busgen/busgen/runtime/internal/inside"
)

// forGenerated is what package gen/bind calls of this one. What it calls with has been checked there.
type forGenerated struct{}

func init() { inside.Runtime = forGenerated{} }

// Define returns the event type of a spec that has no functions. Its payloads are of the type that pointer, a nil
// pointer, points to; partition, dedupe and limits, which take pointers to them, are the functions of the spec.
func (forGenerated) Define(pointer any, spec Spec[Payload], partition, dedupe func(payload any) string, limits map[string]func(payload any) string) *EventType[Payload] {
	t := &eventType{spec: spec, described: true, partition: partition, dedupe: dedupe, limitBy: limits}
	t.define(pointer)
	return &EventType[Payload]{typeRef{t}}
}

// PayloadOf returns the type of the payloads of an event type.
func (forGenerated) PayloadOf(t Definition) reflect.Type { return typeOf(t).of }

// Take returns a pointer to a payload of an event type that is zero, and what assigns such payloads.
// Publish and its like take it back.
func (forGenerated) Take(t Definition) (payload any, of deep.Assigner) {
	own := typeOf(t)
	return take(own), own.assigner
}

// Publish is [Publish] of a payload from Take.
func (forGenerated) Publish(ctx context.Context, to Publisher, t Definition, payload any, opts []PublishOption) (*Receipt, error) {
	return publishOne(ctx, to, typeOf(t), payload, opts)
}

// Subscribe is [Subscribe] with a handler that gets a pointer to the payload. none says that there is no handler.
func (forGenerated) Subscribe(bus *Bus, t Definition, name string, none bool, handler func(ctx context.Context, h Head, payload any) error, opts []SubscribeOption) (*Subscription, error) {
	return subscribe(bus, typeOf(t), name, none, handler, opts)
}

// SubscribeNamespace is [SubscribeNamespace] with a handler of payloads that implement an interface.
func (forGenerated) SubscribeNamespace(bus *Bus, pattern, name string, none bool, takes reflect.Type, handler func(ctx context.Context, h Head, payload any) error, opts []SubscribeOption) (*Subscription, error) {
	return subscribeNamespace(bus, pattern, name, none, takes, handler, opts)
}

// Answer is [SubscribeAnswer] with a handler that gets a pointer to the payload, and returns answers of a type.
func (forGenerated) Answer(bus *Bus, t Definition, name string, none bool, answers reflect.Type, handler func(ctx context.Context, h Head, payload any) (any, error), opts []SubscribeOption) (*Subscription, error) {
	return subscribeAnswer(bus, typeOf(t), name, none, answers, handler, opts)
}

// Request is [Request] with a payload from Take, for an answer of a type.
func (forGenerated) Request(ctx context.Context, bus *Bus, t Definition, payload any, wants reflect.Type, opts []PublishOption) (answer any, err error) {
	return request(ctx, bus, typeOf(t), payload, wants, opts)
}

// Collect is [Collect] with a payload from Take, for answers of a type.
func (forGenerated) Collect(ctx context.Context, bus *Bus, t Definition, payload any, wants reflect.Type, opts []CollectOption) ([]ask.Answer[any], error) {
	return collect(ctx, bus, typeOf(t), payload, wants, opts)
}
