package deep

import (
	"reflect"
	"unsafe"
)

// An Assigner copies values of one type as an assignment does, without code that is made for that type. It is safe for
// concurrent use.
type Assigner struct {
	array reflect.Type // of one value
}

// AssignerOf returns the assigner of a type.
func AssignerOf(t reflect.Type) Assigner {
	return Assigner{reflect.ArrayOf(1, t)}
}

// Assign copies the value that from points to into the one that to points to. Both are pointers to values of the type.
//
// The value at from may be on the stack of the caller, because the compiler can tell that its pointer is not kept. Of
// [reflect.Value.Set] it could not tell that. Memory that the value refers to, such as the bytes of its strings, is
// kept, so it must not be on a stack; [reflect.Copy] does not say that to the compiler, and keeps does.
func (a Assigner) Assign(to, from any) {
	keeps(from)
	reflect.Copy(reflect.NewAt(a.array, pointerIn(to)).Elem(), reflect.NewAt(a.array, pointerIn(from)).Elem())
}

// keeps says to the compiler that what a value refers to is kept, but not a pointer to the value: for what it can
// tell, a reference in the value goes to a global variable. That never happens.
func keeps(from any) {
	if keepsNothing.kept {
		keepsNothing.reference = *(*unsafe.Pointer)(pointerIn(from))
	}
}

var keepsNothing struct {
	kept      bool // false
	reference unsafe.Pointer
}

// pointerIn returns the pointer that an interface holds.
func pointerIn(value any) unsafe.Pointer { return (*pointer)(unsafe.Pointer(&value)).to }
