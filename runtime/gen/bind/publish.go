package bind

import (
	"context"
	"fmt"
	"reflect"
	"unsafe"

	"github.com/busgen/busgen/runtime"
)

// Publish is [runtime.Publish]. payload is a pointer to a payload of t, which is copied before anything
// else is called: it may be on the stack of the caller. Publish panics if the payload is of another type.
//
//go:noinline
func Publish(ctx context.Context, to runtime.Publisher, t runtime.Definition, payload any, opts []runtime.PublishOption) (*runtime.Receipt, error) {
	return inner.Publish(ctx, to, t, copied("Publish", t, payload), opts)
}

// copied returns a payload from the runtime with what payload points to.
//
// A payload may be on the stack of who has called a function here, because the compiler can tell that none of them keeps
// its pointer. Of [reflect.Value.Set] it could not tell that. What the payload refers to, such as the bytes of its
// strings, is kept, so it must not be on a stack; [reflect.Copy] does not say that to the compiler, and keeps does.
func copied(function string, t runtime.Definition, payload any) any {
	if got, want := reflect.TypeOf(payload), reflect.PointerTo(inner.PayloadOf(t)); got != want {
		panic(fmt.Sprintf("bind.%s(%s): the payload is a %v, not a %v", function, t.Name(), got, want))
	}
	p, single := inner.Take(t)
	keeps(payload)
	reflect.Copy(reflect.NewAt(single, pointerIn(p)).Elem(), reflect.NewAt(single, pointerIn(payload)).Elem())
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
