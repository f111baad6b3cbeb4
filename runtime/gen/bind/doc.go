// Package bind is what generated code calls, and programs do not: it gives package runtime event types and handlers
// whose payloads the runtime does not know.
//
// The compiler makes the code of a generic function again for each type of payload, in each build of the generated
// package. So generated code calls the functions here, which are compiled once, and does itself what needs the type of
// a payload: it calls a handler with it. Programs call [runtime.Publish], [runtime.Subscribe] and their like, or the
// generated functions.
//
// The functions are not inlined: internals of the runtime would be compiled with them. A careless edit of generated
// code makes them panic, so that no memory is read as what it is not.
package bind

import (
	"context"
	"reflect"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/ask"
	"github.com/busgen/busgen/runtime/gen/deep"
	"github.com/busgen/busgen/runtime/internal/inside"
)

// inner is what package runtime does for this one.
var inner = inside.Runtime.(interface {
	Define(pointer any, spec runtime.Spec[runtime.Payload], partition, dedupe func(payload any) string, limits map[string]func(payload any) string) *runtime.EventType[runtime.Payload]
	PayloadOf(t runtime.Definition) reflect.Type
	Take(t runtime.Definition) (payload any, of deep.Assigner)
	Publish(ctx context.Context, to runtime.Publisher, t runtime.Definition, payload any, opts []runtime.PublishOption) (*runtime.Receipt, error)
	Subscribe(bus *runtime.Bus, t runtime.Definition, name string, none bool, handler func(ctx context.Context, h runtime.Head, payload any) error, opts []runtime.SubscribeOption) (*runtime.Subscription, error)
	SubscribeNamespace(bus *runtime.Bus, pattern, name string, none bool, takes reflect.Type, handler func(ctx context.Context, h runtime.Head, payload any) error, opts []runtime.SubscribeOption) (*runtime.Subscription, error)
	Answer(bus *runtime.Bus, t runtime.Definition, name string, none bool, answers reflect.Type, handler func(ctx context.Context, h runtime.Head, payload any) (any, error), opts []runtime.SubscribeOption) (*runtime.Subscription, error)
	Request(ctx context.Context, bus *runtime.Bus, t runtime.Definition, payload any, wants reflect.Type, opts []runtime.PublishOption) (answer any, err error)
	Collect(ctx context.Context, bus *runtime.Bus, t runtime.Definition, payload any, wants reflect.Type, opts []runtime.CollectOption) ([]ask.Answer[any], error)
})
