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
// a payload: it calls a handler with it. Programs call [Publish], [Subscribe] and their like.
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

// PublishPayload is [Publish] for generated code. payload is a pointer to a payload of t, which is copied before anything
// else is called: it may be on the stack of the caller. PublishPayload panics if the payload is of another type.
//
//go:noinline
func PublishPayload(ctx context.Context, to Publisher, t Definition, payload any, opts []PublishOption) (*Receipt, error) {
	of := typeOf(t)
	return publishOne(ctx, to, of, copied("PublishPayload", of, payload), opts)
}

// SubscribeFunc is [Subscribe] for generated code. handler is a [Handler] for payloads of t, and call calls it with an
// event, which is a pointer to an [Event] of the same type and good until call returns.
//
//go:noinline
func SubscribeFunc(bus *Bus, t Definition, name string, handler any, call func(ctx context.Context, handler, event any) error, opts []SubscribeOption) (*Subscription, error) {
	of, events := typeOf(t), eventsFor("SubscribeFunc", handler, 1)
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
	events := eventsFor("SubscribeNamespaceFunc", handler, 1)
	return subscribeNamespace(bus, pattern, name, reflect.ValueOf(handler).IsNil(), events.payload.Type, func(ctx context.Context, h head, payload any) error {
		return events.with(h, reflect.ValueOf(payload), func(event any) error { return call(ctx, handler, event) })
	}, opts)
}

// AnswerFunc is [SubscribeAnswer] for generated code. handler is an [AnswerHandler] for payloads of t, and call calls it
// with an event, as that of [SubscribeFunc] does.
//
//go:noinline
func AnswerFunc(bus *Bus, t Definition, name string, handler any, call func(ctx context.Context, handler, event any) (any, error), opts []SubscribeOption) (*Subscription, error) {
	of, events := typeOf(t), eventsFor("AnswerFunc", handler, 2)
	if events.payload.Type != of.of {
		panic(fmt.Sprintf("runtime.AnswerFunc(%s): a %T does not take a %v", of.spec.Name, handler, of.of))
	}
	return subscribeAnswer(bus, of, name, reflect.ValueOf(handler).IsNil(), reflect.TypeOf(handler).Out(0), func(ctx context.Context, h head, payload any) (answer any, err error) {
		err = events.with(h, reflect.ValueOf(payload).Elem(), func(event any) (err error) {
			answer, err = call(ctx, handler, event)
			return err
		})
		return answer, err
	}, opts)
}

// RequestPayload is [Request] for generated code. payload is as that of [PublishPayload], and answers a nil pointer to
// the type of answers. Without an error the result is such an answer; it is nil if that is an interface that is nil.
//
//go:noinline
func RequestPayload(ctx context.Context, bus *Bus, t Definition, payload, answers any, opts []PublishOption) (answer any, err error) {
	of := typeOf(t)
	said, err := ask(ctx, bus, of, copied("RequestPayload", of, payload), pointedTo(answers), &collectConfig{publish: opts, first: 1})
	if said != nil && len(said.answers) > 0 {
		return said.answers[0].value, nil
	}
	if err == nil {
		err = said.nothing()
	}
	return nil, err
}

// CollectPayload is [Collect] for generated code. payload is as that of [PublishPayload], and answers a pointer to a
// list of [Answer], which becomes the list that Collect returns. CollectPayload panics if answers is anything else.
//
//go:noinline
func CollectPayload(ctx context.Context, bus *Bus, t Definition, payload, answers any, opts []CollectOption) error {
	of, list := typeOf(t), answerList(answers)
	p := copied("CollectPayload", of, payload)
	c, err := collectConfigOf(opts)
	if err != nil {
		return err
	}
	said, err := ask(ctx, bus, of, p, list.Type().Elem().Field(1).Type, c)
	if said == nil {
		return err
	}
	list.Set(reflect.MakeSlice(list.Type(), len(said.answers), len(said.answers)))
	for i, a := range said.answers {
		answer := list.Index(i)
		answer.Field(0).SetString(a.subscription)
		if a.value != nil { // which is a nil interface
			answer.Field(1).Set(reflect.ValueOf(a.value))
		}
	}
	return said.errorsAnd(err)
}

// answerList returns what a pointer to a list of [Answer] points to.
func answerList(pointer any) reflect.Value {
	if p := reflect.ValueOf(pointer); p.Kind() == reflect.Pointer && !p.IsNil() {
		if t := p.Type().Elem(); t.Kind() == reflect.Slice && isMade(t.Elem(), "Answer") {
			return p.Elem()
		}
	}
	panic(fmt.Sprintf("runtime.CollectPayload: a %v is no pointer to a list of answers", reflect.TypeOf(pointer)))
}

// copied returns a payload with what payload points to. The copy is one that [eventType.give] takes back.
//
// A payload may be on the stack of who has called a function here, because the compiler can tell that none of them keeps
// its pointer. Of [reflect.Value.Set] it could not tell that. What the payload refers to, such as the bytes of its
// strings, is kept, so it must not be on a stack; [reflect.Copy] does not say that to the compiler, and keeps does.
func copied(function string, of *eventType, payload any) any {
	if got := reflect.TypeOf(payload); got != of.pointer {
		panic(fmt.Sprintf("runtime.%s(%s): the payload is a %v, not a %v", function, of.spec.Name, got, of.pointer))
	}
	p := take(of)
	keeps(payload)
	reflect.Copy(reflect.NewAt(of.single, pointerIn(p)).Elem(), reflect.NewAt(of.single, pointerIn(payload)).Elem())
	return p
}

// keeps says to the compiler that what a payload refers to is kept, but not a pointer to the payload: for what it can
// tell, a reference in the payload goes to a global variable. That never happens.
func keeps(payload any) {
	if keepsNothing.kept {
		keepsNothing.reference = *(*unsafe.Pointer)(pointerIn(payload))
	}
}

var keepsNothing struct {
	kept      bool // false
	reference unsafe.Pointer
}

// pointerIn returns the pointer that an interface holds.
func pointerIn(value any) unsafe.Pointer { return (*[2]unsafe.Pointer)(unsafe.Pointer(&value))[1] }

// events makes events of a type that only the caller of a function here knows.
type events struct {
	of      reflect.Type        // Event[T]
	payload reflect.StructField // its payload
	free    sync.Pool           // of pointers to events, which are zero
}

// eventsFor returns the events that a handler takes, which has so many results: 1 for a [Handler], 2 for an [AnswerHandler].
func eventsFor(function string, handler any, results int) *events {
	if of := reflect.TypeOf(handler); of != nil && of.Kind() == reflect.Func && of.NumIn() == 2 && of.NumOut() == results && isMade(of.In(1), "Event") {
		return &events{of: of.In(1), payload: of.In(1).Field(of.In(1).NumField() - 1)}
	}
	panic(fmt.Sprintf("runtime.%s: a %T is no handler", function, handler))
}

// isMade tells whether t was made of a generic type of this package.
func isMade(t reflect.Type, of string) bool {
	return t.PkgPath() == reflect.TypeFor[head]().PkgPath() && strings.HasPrefix(t.Name(), of+"[")
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
