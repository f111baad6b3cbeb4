package wire

import (
	"reflect"
	"sync"
	"time"
)

// hasSeconds reports whether an offset from UTC has seconds, as before the 1930s. RFC 3339 has no form for it: a writer
// that leaves the seconds out, as encoding/json does, writes another moment. So moments with such an offset are written
// in UTC.
func hasSeconds(offset int) bool { return offset%60 != 0 }

// inUTC returns value, a pointer, or a pointer to a copy, in which the moments whose offset from UTC has seconds are in
// UTC. It is for values that encoding/json writes. The moments that value points to stay as they are.
func inUTC(value any) any {
	var w walk
	if moved, found := w.moved(reflect.ValueOf(value)); found && !w.endless {
		return moved.Interface()
	}
	return value
}

// endless is the number of values inside of each other from which on a value is taken to contain itself. JSON that is
// so deep cannot be read.
const endless = 20_000

// walk looks for moments in a value.
type walk struct {
	depth   int
	endless bool // the value contains itself, which encoding/json says
}

// moved returns v with such moments in UTC, and whether it has any. Fields that are not exported stay as they are: if a
// type has them in its JSON, its methods write them.
func (w *walk) moved(v reflect.Value) (moved reflect.Value, found bool) {
	in := placesOf(v.Type())
	if w.endless = w.endless || w.depth > endless; w.endless || !in.any {
		return v, false
	}
	w.depth++
	defer func() { w.depth-- }()
	switch v.Kind() {
	case reflect.Interface:
		if !v.IsNil() {
			return w.moved(v.Elem())
		}
	case reflect.Pointer:
		if v.IsNil() {
			break
		}
		if to, found := w.moved(v.Elem()); found {
			moved = reflect.New(v.Type().Elem())
			moved.Elem().Set(to)
			return moved.Convert(v.Type()), true
		}
	case reflect.Slice, reflect.Array:
		return w.movedItems(v)
	case reflect.Map:
		return w.movedEntries(v)
	case reflect.Struct:
		if v.Type() != reflect.TypeFor[time.Time]() {
			return w.movedFields(v, in.fields)
		}
		t := v.Interface().(time.Time)
		if _, offset := t.Zone(); hasSeconds(offset) {
			return reflect.ValueOf(t.UTC()), true
		}
	}
	return v, false
}

func (w *walk) movedFields(v reflect.Value, fields []int) (moved reflect.Value, found bool) {
	for _, i := range fields {
		if field, has := w.moved(v.Field(i)); has {
			if !found {
				moved, found = reflect.New(v.Type()).Elem(), true
				moved.Set(v)
			}
			moved.Field(i).Set(field)
		}
	}
	return moved, found
}

func (w *walk) movedItems(v reflect.Value) (moved reflect.Value, found bool) {
	for i := range v.Len() {
		if item, has := w.moved(v.Index(i)); has {
			if !found {
				moved, found = reflect.New(v.Type()).Elem(), true
				if v.Kind() == reflect.Slice {
					moved.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
				}
				reflect.Copy(moved, v)
			}
			moved.Index(i).Set(item)
		}
	}
	return moved, found
}

func (w *walk) movedEntries(v reflect.Value) (moved reflect.Value, found bool) {
	for all := v.MapRange(); all.Next(); {
		if value, has := w.moved(all.Value()); has {
			if !found {
				moved, found = reflect.MakeMapWithSize(v.Type(), v.Len()), true
				for each := v.MapRange(); each.Next(); {
					moved.SetMapIndex(each.Key(), each.Value())
				}
			}
			moved.SetMapIndex(all.Key(), value)
		}
	}
	return moved, found
}

// places says where in the values of a type there can be moments.
type places struct {
	any    bool
	fields []int // of a struct
}

var placesKnown sync.Map // of *places by reflect.Type

func placesOf(t reflect.Type) *places {
	if known, ok := placesKnown.Load(t); ok {
		return known.(*places)
	}
	p := &places{any: leadsToMoment(t, map[reflect.Type]bool{})}
	if t.Kind() == reflect.Struct {
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() && leadsToMoment(f.Type, map[reflect.Type]bool{}) {
				p.fields = append(p.fields, i)
			}
		}
	}
	placesKnown.Store(t, p)
	return p
}

// leadsToMoment reports whether there can be a moment in a value of type t.
func leadsToMoment(t reflect.Type, seen map[reflect.Type]bool) bool {
	if t == reflect.TypeFor[time.Time]() || t.Kind() == reflect.Interface {
		return true
	}
	if seen[t] {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return leadsToMoment(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() && leadsToMoment(f.Type, seen) {
				return true
			}
		}
	}
	return false
}
