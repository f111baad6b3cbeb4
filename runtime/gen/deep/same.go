package deep

import (
	"bytes"
	"reflect"
	"time"
)

// Equal reports whether what a and b point to has the same content. Times are compared as moments, and nil equals an
// empty list or map. Both are pointers to values of one type without interfaces, which do not contain themselves.
func Equal(a, b any) bool { return same(reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem()) }

func same(a, b reflect.Value) bool {
	if at, ok := moment(a); ok {
		other, _ := moment(b)
		return at.Equal(other)
	}
	switch a.Kind() {
	case reflect.Struct:
		for i := range a.NumField() {
			if !same(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Pointer:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() == b.IsNil()
		}
		return same(a.Elem(), b.Elem())
	case reflect.Slice:
		return sameItems(a, b)
	case reflect.Map:
		return sameEntries(a, b)
	}
	return a.Equal(b)
}

// moment returns a value as a time, if it is one.
func moment(v reflect.Value) (time.Time, bool) {
	if v.Type() != reflect.TypeFor[time.Time]() || !v.CanInterface() {
		return time.Time{}, false
	}
	return v.Interface().(time.Time), true
}

func sameItems(a, b reflect.Value) bool {
	if a.Len() != b.Len() {
		return false
	}
	if a.Type().Elem().Kind() == reflect.Uint8 {
		return bytes.Equal(a.Bytes(), b.Bytes())
	}
	for i := range a.Len() {
		if !same(a.Index(i), b.Index(i)) {
			return false
		}
	}
	return true
}

func sameEntries(a, b reflect.Value) bool {
	if a.Len() != b.Len() {
		return false
	}
	for all := a.MapRange(); all.Next(); {
		other := b.MapIndex(all.Key())
		if !other.IsValid() || !same(all.Value(), other) {
			return false
		}
	}
	return true
}
