package runtime

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// keyOfField returns a function that reads a scalar of a payload as a text, by which events are
// kept in order or limits apart: equal values have equal texts. path has Go names of fields with
// dots between them. The function takes a pointer to a payload of type t; it is nil for an empty
// path. keyOfField panics if there is no such field.
func keyOfField(t reflect.Type, path string) func(payload any) string {
	if path == "" {
		return nil
	}
	var index []int
	of := t
	for name := range strings.SplitSeq(path, ".") {
		if of.Kind() != reflect.Struct {
			panic(fmt.Sprintf("runtime.Describe: %v has no field %s", t, path))
		}
		f, ok := of.FieldByName(name)
		if !ok {
			panic(fmt.Sprintf("runtime.Describe: %v has no field %s", t, path))
		}
		index, of = append(index, f.Index...), f.Type
	}
	text := textOf(of)
	if text == nil {
		panic(fmt.Sprintf("runtime.Describe: field %s of %v is no scalar", path, t))
	}
	return func(payload any) string { return text(reflect.ValueOf(payload).Elem().FieldByIndex(index)) }
}

// textOf returns a function that writes a scalar of a type as a text; nil for another type.
func textOf(t reflect.Type) func(reflect.Value) string {
	switch t.Kind() {
	case reflect.String:
		return reflect.Value.String
	case reflect.Bool:
		return func(v reflect.Value) string { return strconv.FormatBool(v.Bool()) }
	case reflect.Int, reflect.Int32, reflect.Int64:
		return func(v reflect.Value) string { return strconv.FormatInt(v.Int(), 10) }
	case reflect.Uint64:
		return func(v reflect.Value) string { return strconv.FormatUint(v.Uint(), 10) }
	case reflect.Array:
		if t.ConvertibleTo(reflect.TypeFor[uuid.UUID]()) {
			return func(v reflect.Value) string { return uuid.UUID(v.Bytes()).String() }
		}
	}
	return nil
}
