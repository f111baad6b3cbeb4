package deep

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// Custom returns a copy of a value of a type that is not generated. It calls the method
// Clone if there is one; otherwise it returns a shallow copy, as an assignment does.
func Custom[T any](value T) T {
	switch cloner := any(&value).(type) {
	case interface{ Clone() T }:
		return cloner.Clone()
	case interface{ Clone() *T }:
		return *cloner.Clone()
	}
	return value
}

// EqualCustom compares values of a type that is not generated. It calls the method
// Equal if there is one. Otherwise values are equal if [reflect.DeepEqual] says so, or
// if they have the same JSON and it leaves out no field. JSON matters for values such
// as the zero of a big.Int, which has several forms in memory.
func EqualCustom[T any](a, b T) bool {
	switch comparer := any(&a).(type) {
	case interface{ Equal(T) bool }:
		return comparer.Equal(b)
	case interface{ Equal(*T) bool }:
		return comparer.Equal(&b)
	}
	return reflect.DeepEqual(&a, &b) || sameComplete(&a, &b)
}

// sameComplete reports whether what a and b point to has the same JSON, and it leaves out nothing.
func sameComplete(a, b any) bool { return LeftOut(a) == "" && LeftOut(b) == "" && SameJSON(a, b) }

// writesItself reports whether t or a pointer to it has a method that encoding/json writes it with.
func writesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Marshaler]()) || p.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}

// SameJSON reports whether two values have the same JSON, except for the order of keys
// in objects.
func SameJSON(a, b any) bool {
	treeOf := func(value any) (tree any, err error) {
		encoded, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		decoder := json.NewDecoder(bytes.NewReader(encoded))
		decoder.UseNumber() // a float64 does not hold every number
		err = decoder.Decode(&tree)
		return tree, err
	}
	treeA, errA := treeOf(a)
	treeB, errB := treeOf(b)
	return errA == nil && errB == nil && reflect.DeepEqual(treeA, treeB)
}

// LeftOut returns the path of a field that is not zero and that encoding/json leaves
// out because it is not exported, or "" if there is none. Types with JSON methods of
// their own and fields with the tag `json:"-"` do not count. value must be a pointer to
// a value that encoding/json can encode, so it does not contain itself.
func LeftOut(value any) string { return leftOut(reflect.ValueOf(value)) }

// ownMethods lists the interfaces of types that write or read their own JSON.
var ownMethods = []reflect.Type{
	reflect.TypeFor[json.Marshaler](), reflect.TypeFor[encoding.TextMarshaler](),
	reflect.TypeFor[json.Unmarshaler](), reflect.TypeFor[encoding.TextUnmarshaler](),
}

func leftOut(v reflect.Value) string {
	if !v.IsValid() {
		return ""
	}
	for _, own := range ownMethods {
		if v.Type().Implements(own) || reflect.PointerTo(v.Type()).Implements(own) {
			return ""
		}
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return leftOut(v.Elem())
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return "" // there may be many
		}
		for i := range v.Len() {
			if path := leftOut(v.Index(i)); path != "" {
				return fmt.Sprintf("[%d]%s", i, dotted(path))
			}
		}
	case reflect.Map:
		for entries := v.MapRange(); entries.Next(); {
			if path := leftOut(entries.Value()); path != "" {
				return fmt.Sprintf("[%v]%s", entries.Key(), dotted(path))
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if path := fieldLeftOut(v.Type().Field(i), v.Field(i)); path != "" {
				return path
			}
		}
	}
	return ""
}

func fieldLeftOut(f reflect.StructField, v reflect.Value) string {
	if f.Tag.Get("json") == "-" {
		return ""
	}
	embedded := f.Anonymous && (f.Type.Kind() == reflect.Struct || f.Type.Kind() == reflect.Pointer && f.Type.Elem().Kind() == reflect.Struct)
	if !f.IsExported() && !embedded {
		if v.IsZero() {
			return ""
		}
		return f.Name
	}
	if path := leftOut(v); path != "" {
		return f.Name + dotted(path)
	}
	return ""
}

// dotted returns path as it continues another path.
func dotted(path string) string {
	if strings.HasPrefix(path, "[") {
		return path
	}
	return "." + path
}
