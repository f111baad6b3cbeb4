package deep

import (
	"bytes"
	"reflect"
)

// Equal reports whether what a and b point to has the same content. Both are pointers to values of one type. It calls
// the methods Equal of types that have one, so times are compared as moments. Nil equals an empty list or map. Structs
// with fields that are not exported, or with JSON methods of their own, are also equal as [EqualCustom] says. It panics
// if the values contain themselves.
func Equal(a, b any) bool { return same(reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem(), 0) }

// same compares two values with an address.
func same(a, b reflect.Value, depth int) bool {
	if depth > endless {
		panic("deep: the values go on without an end, or contain themselves")
	}
	switch a.Kind() {
	case reflect.Pointer, reflect.Interface:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() == b.IsNil()
		}
		return a.Elem().Type() == b.Elem().Type() && same(addressable(a.Elem()), addressable(b.Elem()), depth+1)
	}
	if equal, found := ownEqual(a, b); found {
		return equal
	}
	switch a.Kind() {
	case reflect.Struct:
		return sameFields(a, b, depth)
	case reflect.Slice, reflect.Array:
		return sameItems(a, b, depth)
	case reflect.Map:
		return sameEntries(a, b, depth)
	case reflect.Func:
		return a.IsNil() && b.IsNil()
	}
	return a.Equal(b)
}

// addressable returns v, or a copy of it that has an address.
func addressable(v reflect.Value) reflect.Value {
	if v.CanAddr() {
		return v
	}
	copied := reflect.New(v.Type()).Elem()
	copied.Set(v)
	return copied
}

// ownEqual calls the method Equal of a or of its address, if there is one and it takes such a value or a pointer to one.
func ownEqual(a, b reflect.Value) (equal, found bool) {
	if !withEqual.has(a.Type()) {
		return false, false
	}
	method := a.Addr().MethodByName("Equal")
	if method.Type().In(0) != a.Type() {
		b = b.Addr()
	}
	return method.Call([]reflect.Value{b})[0].Bool(), true
}

var withEqual = having(func(t reflect.Type) bool {
	m, ok := reflect.PointerTo(t).MethodByName("Equal")
	return ok && m.Type.NumIn() == 2 && !m.Type.IsVariadic() && isOrPointsTo(m.Type.In(1), t) &&
		m.Type.NumOut() == 1 && m.Type.Out(0).Kind() == reflect.Bool
})

func sameFields(a, b reflect.Value, depth int) bool {
	all, hidden := true, false
	for i := range a.NumField() {
		if !a.Type().Field(i).IsExported() {
			hidden = true
			continue
		}
		all = all && same(a.Field(i), b.Field(i), depth+1)
	}
	if hidden {
		return reflect.DeepEqual(a.Addr().Interface(), b.Addr().Interface()) || sameComplete(a.Addr().Interface(), b.Addr().Interface())
	}
	return all || writesItself(a.Type()) && SameJSON(a.Addr().Interface(), b.Addr().Interface())
}

func sameItems(a, b reflect.Value, depth int) bool {
	if a.Len() != b.Len() {
		return false
	}
	if a.Type().Elem().Kind() == reflect.Uint8 {
		return bytes.Equal(a.Bytes(), b.Bytes())
	}
	for i := range a.Len() {
		if !same(a.Index(i), b.Index(i), depth+1) {
			return false
		}
	}
	return true
}

func sameEntries(a, b reflect.Value, depth int) bool {
	if a.Len() != b.Len() {
		return false
	}
	for all := a.MapRange(); all.Next(); {
		other := b.MapIndex(all.Key())
		if !other.IsValid() || !same(addressable(all.Value()), addressable(other), depth+1) {
			return false
		}
	}
	return true
}
