package deep

import (
	"reflect"
	"sync"
)

// Separate makes the value that p points to a deep copy of what it was assigned from. It calls the methods Clone of
// types that have one. Fields that are not exported stay shared. It panics if the value contains itself.
func Separate(p any) { separate(reflect.ValueOf(p).Elem(), 0) }

// endless is the number of values inside of each other from which on a value is taken to contain itself.
const endless = 100 * MaxDepth

func separate(v reflect.Value, depth int) {
	if depth > endless {
		panic("deep: the value goes on without an end, or contains itself")
	}
	if own, found := ownClone(v); found {
		v.Set(own)
		return
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return
		}
		old := v.Elem()
		copied := reflect.New(old.Type())
		copied.Elem().Set(old)
		separate(copied.Elem(), depth+1)
		if v.Kind() == reflect.Interface {
			copied = copied.Elem()
		}
		v.Set(copied)
	case reflect.Slice:
		separateItems(v, depth)
	case reflect.Array:
		for i := range v.Len() {
			separate(v.Index(i), depth+1)
		}
	case reflect.Map:
		separateEntries(v, depth)
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Field(i); field.CanSet() {
				separate(field, depth+1)
			}
		}
	}
}

func separateItems(v reflect.Value, depth int) {
	if v.IsNil() {
		return
	}
	copied := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
	reflect.Copy(copied, v)
	if v.Type().Elem().Kind() != reflect.Uint8 {
		for i := range copied.Len() {
			separate(copied.Index(i), depth+1)
		}
	}
	v.Set(copied)
}

func separateEntries(v reflect.Value, depth int) {
	if v.IsNil() {
		return
	}
	copied := reflect.MakeMapWithSize(v.Type(), v.Len())
	for all := v.MapRange(); all.Next(); {
		value := reflect.New(v.Type().Elem()).Elem()
		value.Set(all.Value())
		separate(value, depth+1)
		copied.SetMapIndex(all.Key(), value)
	}
	v.Set(copied)
}

// ownClone calls the method Clone of v or of its address, if there is one and it returns such a value or a pointer to one.
func ownClone(v reflect.Value) (copied reflect.Value, found bool) {
	if !withClone.has(v.Type()) {
		return reflect.Value{}, false
	}
	copied = v.Addr().MethodByName("Clone").Call(nil)[0]
	if copied.Kind() == reflect.Pointer {
		copied = copied.Elem()
	}
	return copied, true
}

var withClone = having(func(t reflect.Type) bool {
	m, ok := reflect.PointerTo(t).MethodByName("Clone")
	return ok && m.Type.NumIn() == 1 && m.Type.NumOut() == 1 && isOrPointsTo(m.Type.Out(0), t)
})

// types knows which types have a method, and looks once for each. It is safe for concurrent use.
//
// What looks names the method by a constant. Otherwise the linker would keep all methods of a program.
type types struct {
	look  func(t reflect.Type) bool
	found sync.Map // of bool by reflect.Type
}

func having(look func(t reflect.Type) bool) *types { return &types{look: look} }

// has reports whether a pointer to a value of type t has the method. Of an interface, the method of what is inside counts.
func (k *types) has(t reflect.Type) bool {
	if t.PkgPath() == "" || t.Kind() == reflect.Interface {
		return false
	}
	found, known := k.found.Load(t)
	if !known {
		found = k.look(t)
		k.found.Store(t, found)
	}
	return found.(bool)
}

func isOrPointsTo(t, target reflect.Type) bool { return t == target || t == reflect.PointerTo(target) }
