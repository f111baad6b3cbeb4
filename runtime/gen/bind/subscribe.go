package bind

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/busgen/busgen/runtime"
)

// Subscribe is [runtime.Subscribe]. handler is a [runtime.Handler] for payloads of t, and call calls it with an
// event, which is a pointer to a [runtime.Event] of the same type and good until call returns.
//
//go:noinline
func Subscribe(bus *runtime.Bus, t runtime.Definition, name string, handler any, call func(ctx context.Context, handler, event any) error, opts []runtime.SubscribeOption) (*runtime.Subscription, error) {
	events := eventsFor("Subscribe", handler, 1)
	events.mustBe("Subscribe", t, handler)
	return inner.Subscribe(bus, t, name, reflect.ValueOf(handler).IsNil(), func(ctx context.Context, h runtime.Head, payload any) error {
		return events.with(h, reflect.ValueOf(payload).Elem(), func(event any) error { return call(ctx, handler, event) })
	}, opts)
}

// SubscribeNamespace is [runtime.SubscribeNamespace], as [Subscribe] is runtime.Subscribe.
//
//go:noinline
func SubscribeNamespace(bus *runtime.Bus, pattern, name string, handler any, call func(ctx context.Context, handler, event any) error, opts []runtime.SubscribeOption) (*runtime.Subscription, error) {
	events := eventsFor("SubscribeNamespace", handler, 1)
	return inner.SubscribeNamespace(bus, pattern, name, reflect.ValueOf(handler).IsNil(), events.payload, func(ctx context.Context, h runtime.Head, payload any) error {
		return events.with(h, reflect.ValueOf(payload), func(event any) error { return call(ctx, handler, event) })
	}, opts)
}

// events makes events of a type that only the caller of a function here knows.
type events struct {
	of      reflect.Type // Event[T]
	payload reflect.Type // T
	free    sync.Pool    // of pointers to events, which are zero
}

// eventsFor returns the events that a handler takes, which has so many results: 1 for a [runtime.Handler], 2 for a
// [runtime.AnswerHandler].
func eventsFor(function string, handler any, results int) *events {
	if of := reflect.TypeOf(handler); of != nil && of.Kind() == reflect.Func && of.NumIn() == 2 && of.NumOut() == results && isMade(of.In(1), reflect.TypeFor[runtime.Event[any]]()) {
		return &events{of: of.In(1), payload: of.In(1).Field(1).Type}
	}
	panic(fmt.Sprintf("bind.%s: a %T is no handler", function, handler))
}

// mustBe panics if the events have not the payload of an event type.
func (e *events) mustBe(function string, t runtime.Definition, handler any) {
	if of := inner.PayloadOf(t); e.payload != of {
		panic(fmt.Sprintf("bind.%s(%s): a %T does not take a %v", function, t.Name(), handler, of))
	}
}

// isMade tells whether t was made of the generic type of which another one was made.
func isMade(t, other reflect.Type) bool {
	name, _, generic := strings.Cut(t.Name(), "[")
	of, _, _ := strings.Cut(other.Name(), "[")
	return generic && name == of && t.PkgPath() == other.PkgPath()
}

// with calls call with a pointer to an event that has a head and a payload.
func (e *events) with(h runtime.Head, payload reflect.Value, call func(event any) error) error {
	event := e.free.Get()
	if event == nil {
		event = reflect.New(e.of).Interface()
	}
	of := reflect.ValueOf(event).Elem()
	*of.Field(0).Addr().Interface().(*runtime.Head) = h
	of.Field(1).Set(payload)
	err := call(event)
	of.SetZero() // not if it panics
	e.free.Put(event)
	return err
}
