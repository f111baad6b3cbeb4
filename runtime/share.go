package runtime

import (
	"reflect"
	"time"
)

// An event that several subscriptions handle is decoded once. Each handler
// still gets a payload of its own: what it could change in another's, the
// elements of slices and maps and what pointers point to, is copied. Whether and
// how is found out once per payload type.

// sharing is how a decoded value of a type can serve several handlers.
type sharing int

const (
	byValue  sharing = iota // assigning it is a copy
	byCopy                  // duplicate makes a copy
	unshared                // it cannot be copied faithfully; decode it again
)

// sharingOf looks at a type. Types that are being looked at already, because
// they contain themselves, do not change the answer.
func sharingOf(t reflect.Type, within map[reflect.Type]bool) sharing {
	if t == reflect.TypeFor[time.Time]() || within[t] {
		return byValue // a time's location is immutable
	}
	within[t] = true
	defer delete(within, t)
	switch t.Kind() {
	case reflect.Slice, reflect.Pointer:
		return max(byCopy, sharingOf(t.Elem(), within))
	case reflect.Map:
		return max(byCopy, sharingOf(t.Key(), within), sharingOf(t.Elem(), within))
	case reflect.Array:
		return sharingOf(t.Elem(), within)
	case reflect.Struct:
		worst := byValue
		for i := range t.NumField() {
			field := t.Field(i)
			of := sharingOf(field.Type, within)
			if of != byValue && !field.IsExported() {
				of = unshared // it cannot be set from here
			}
			worst = max(worst, of)
		}
		return worst
	case reflect.Interface, reflect.Chan, reflect.Func, reflect.UnsafePointer:
		return unshared
	}
	return byValue
}

// duplicate replaces everything in v that others could change by a copy.
func duplicate(v reflect.Value) {
	switch v.Kind() {
	case reflect.Slice:
		if v.IsNil() {
			return
		}
		fresh := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(fresh, v)
		if !plain(v.Type().Elem()) {
			for i := range fresh.Len() {
				duplicate(fresh.Index(i))
			}
		}
		v.Set(fresh)
	case reflect.Pointer:
		if v.IsNil() {
			return
		}
		fresh := reflect.New(v.Type().Elem())
		fresh.Elem().Set(v.Elem())
		duplicate(fresh.Elem())
		v.Set(fresh)
	case reflect.Map:
		if v.IsNil() {
			return
		}
		fresh := reflect.MakeMapWithSize(v.Type(), v.Len())
		for entries := v.MapRange(); entries.Next(); {
			value := reflect.New(v.Type().Elem()).Elem()
			value.Set(entries.Value())
			duplicate(value)
			fresh.SetMapIndex(entries.Key(), value)
		}
		v.Set(fresh)
	case reflect.Array:
		if !plain(v.Type().Elem()) {
			for i := range v.Len() {
				duplicate(v.Index(i))
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Field(i); field.CanSet() {
				duplicate(field)
			}
		}
	}
}

// plain says of frequent element types that assigning them is a copy.
func plain(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Slice, reflect.Pointer, reflect.Map, reflect.Array, reflect.Struct:
		return false
	}
	return true
}
