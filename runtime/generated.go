package runtime

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"unsafe"
)

// The compiler makes the code of a generic function again for each type of payload, in each build of the generated
// package. So generated code calls the functions here, which are compiled once, and does itself what needs the type of
// a payload: it copies one, and calls a handler with it. Programs call [Publish], [Subscribe] and their like.
//
// They are not inlined: what is inside of the runtime would be compiled with them.

// Described is an event type for generated code, which converts it to an [EventType].
type Described struct{ typeRef }

// DescribeAs returns the event type that d describes. Its payloads are of the type that pointer, a nil pointer, points
// to. It is for generated code, and panics if d could not have come from busgen.
//
//go:noinline
func DescribeAs(pointer any, d *Description) *Described {
	return &Described{typeRef{described(d, pointer)}}
}

// Describe is [DescribeAs] for generated code of contracts 4 to 6.
func Describe[T Payload](d *Description) *EventType[T] {
	return (*EventType[T])(DescribeAs((*T)(nil), d))
}

// NewPayload returns a pointer to a payload of t that is zero, for [PublishPayload]. It is for generated code.
//
//go:noinline
func NewPayload(t Definition) any { return take(typeOf(t)) }

// PublishPayload is [Publish] for generated code. The payload comes from [NewPayload] of the same type, and belongs to
// the runtime from then on: it must not be used again. PublishPayload panics if it is of another type.
//
//go:noinline
func PublishPayload(ctx context.Context, to Publisher, t Definition, payload any, opts []PublishOption) (*Receipt, error) {
	of := typeOf(t)
	if reflect.TypeOf(payload) != of.pointer {
		panic(fmt.Sprintf("runtime.PublishPayload(%s): the payload is a %T, not a %v", of.spec.Name, payload, of.pointer))
	}
	return publishOne(ctx, to, of, payload, opts)
}

// SubscribeFunc is [Subscribe] for generated code. handler is a [Handler] for payloads of t, and call calls it with an
// event, which is a pointer to an [Event] of the same type and good until call returns.
//
//go:noinline
func SubscribeFunc(bus *Bus, t Definition, name string, handler any, call func(ctx context.Context, handler, event any) error, opts []SubscribeOption) (*Subscription, error) {
	of, events := typeOf(t), eventsFor("SubscribeFunc", handler)
	if events.payload.Type != of.of {
		panic(fmt.Sprintf("runtime.SubscribeFunc(%s): a %T does not take a %v", of.spec.Name, handler, of.of))
	}
	return subscribe(bus, of, name, reflect.ValueOf(handler).IsNil(), func(ctx context.Context, h head, payload any) error {
		return events.with(h, reflect.ValueOf(payload).Elem(), func(event any) error { return call(ctx, handler, event) })
	}, opts)
}

// SubscribeNamespaceFunc is [SubscribeNamespace] for generated code, as [SubscribeFunc] is Subscribe.
//
//go:noinline
func SubscribeNamespaceFunc(bus *Bus, pattern, name string, handler any, call func(ctx context.Context, handler, event any) error, opts []SubscribeOption) (*Subscription, error) {
	events := eventsFor("SubscribeNamespaceFunc", handler)
	return subscribeNamespace(bus, pattern, name, reflect.ValueOf(handler).IsNil(), events.payload.Type, func(ctx context.Context, h head, payload any) error {
		return events.with(h, reflect.ValueOf(payload), func(event any) error { return call(ctx, handler, event) })
	}, opts)
}

// events makes events of a type that only the caller of a function here knows.
type events struct {
	of      reflect.Type        // Event[T]
	payload reflect.StructField // its payload
	free    sync.Pool           // of pointers to events, which are zero
}

// eventsFor returns the events that a [Handler] takes.
func eventsFor(function string, handler any) *events {
	if of := reflect.TypeOf(handler); of != nil && of.Kind() == reflect.Func && of.NumIn() == 2 && isEvent(of.In(1)) {
		return &events{of: of.In(1), payload: of.In(1).Field(of.In(1).NumField() - 1)}
	}
	panic(fmt.Sprintf("runtime.%s: a %T is no handler", function, handler))
}

// isEvent tells whether t is an Event[T] for some T.
func isEvent(t reflect.Type) bool {
	return t.PkgPath() == reflect.TypeFor[head]().PkgPath() && strings.HasPrefix(t.Name(), "Event[")
}

// with calls call with a pointer to an event that has a head and a payload.
func (e *events) with(h head, payload reflect.Value, call func(event any) error) error {
	event := e.free.Get()
	if event == nil {
		event = reflect.New(e.of).Interface()
	}
	at := reflect.ValueOf(event).UnsafePointer()
	*(*head)(at) = h
	reflect.NewAt(e.payload.Type, unsafe.Add(at, e.payload.Offset)).Elem().Set(payload)
	err := call(event)
	reflect.ValueOf(event).Elem().SetZero() // not if it panics
	e.free.Put(event)
	return err
}
