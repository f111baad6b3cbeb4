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
	byCopy                  // a copier makes a copy
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

// A copier replaces everything in a value that others could change by a copy.
// The value is addressable. A nil copier is for types that assigning copies.
type copier func(v reflect.Value)

// copierOf returns the copier of a type. Those of types that are known, among
// them the ones that contain themselves, are used again; a copier is only
// called once all of them are made.
func copierOf(t reflect.Type, known map[reflect.Type]*copier) *copier {
	if c, ok := known[t]; ok {
		return c
	}
	if sharingOf(t, map[reflect.Type]bool{}) == byValue {
		return nil
	}
	c := new(copier)
	known[t] = c
	switch t.Kind() {
	case reflect.Slice:
		*c = copySlice(t, copierOf(t.Elem(), known))
	case reflect.Pointer:
		*c = copyPointer(t, copierOf(t.Elem(), known))
	case reflect.Map:
		*c = copyMap(t, copierOf(t.Elem(), known))
	case reflect.Array:
		*c = copyArray(copierOf(t.Elem(), known))
	case reflect.Struct:
		*c = copyStruct(t, known)
	}
	return c
}

func copySlice(t reflect.Type, element *copier) copier {
	return func(v reflect.Value) {
		if v.IsNil() {
			return
		}
		fresh := reflect.MakeSlice(t, v.Len(), v.Len())
		reflect.Copy(fresh, v)
		if element != nil {
			for i := range fresh.Len() {
				(*element)(fresh.Index(i))
			}
		}
		v.Set(fresh)
	}
}

func copyPointer(t reflect.Type, element *copier) copier {
	return func(v reflect.Value) {
		if v.IsNil() {
			return
		}
		fresh := reflect.New(t.Elem())
		fresh.Elem().Set(v.Elem())
		if element != nil {
			(*element)(fresh.Elem())
		}
		v.Set(fresh)
	}
}

func copyMap(t reflect.Type, element *copier) copier {
	return func(v reflect.Value) {
		if v.IsNil() {
			return
		}
		fresh := reflect.MakeMapWithSize(t, v.Len())
		for entries := v.MapRange(); entries.Next(); {
			value := entries.Value()
			if element != nil {
				value = reflect.New(t.Elem()).Elem()
				value.Set(entries.Value())
				(*element)(value)
			}
			fresh.SetMapIndex(entries.Key(), value)
		}
		v.Set(fresh)
	}
}

func copyArray(element *copier) copier {
	return func(v reflect.Value) {
		for i := range v.Len() {
			(*element)(v.Index(i))
		}
	}
}

func copyStruct(t reflect.Type, known map[reflect.Type]*copier) copier {
	type part struct {
		field int
		copy  *copier
	}
	var parts []part
	for i := range t.NumField() {
		if c := copierOf(t.Field(i).Type, known); c != nil {
			parts = append(parts, part{i, c})
		}
	}
	return func(v reflect.Value) {
		for _, p := range parts {
			(*p.copy)(v.Field(p.field))
		}
	}
}
