package bind

import (
	"context"
	"fmt"
	"reflect"

	"github.com/busgen/busgen/runtime"
)

// Publish is [runtime.Publish]. payload is a pointer to a payload of t, which is copied before anything
// else is called: it may be on the stack of the caller. Publish panics if the payload is of another type.
//
//go:noinline
func Publish(ctx context.Context, to runtime.Publisher, t runtime.Definition, payload any, opts []runtime.PublishOption) (*runtime.Receipt, error) {
	return inner.Publish(ctx, to, t, copied("Publish", t, payload), opts)
}

// copied returns a payload from the runtime with what payload points to, which may be on the stack of the caller of a
// function here: see [deep.Assigner].
func copied(function string, t runtime.Definition, payload any) any {
	if got, want := reflect.TypeOf(payload), reflect.PointerTo(inner.PayloadOf(t)); got != want {
		panic(fmt.Sprintf("bind.%s(%s): the payload is a %v, not a %v", function, t.Name(), got, want))
	}
	p, of := inner.Take(t)
	of.Assign(p, payload)
	return p
}
