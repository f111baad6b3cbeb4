package bind

import (
	"encoding"
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
			panic(fmt.Sprintf("bind.Describe: %v has no field %s", t, path))
		}
		f, ok := of.FieldByName(name)
		if !ok {
			panic(fmt.Sprintf("bind.Describe: %v has no field %s", t, path))
		}
		index, of = append(index, f.Index...), f.Type
	}
	text := textOf(of)
	if text == nil {
		panic(fmt.Sprintf("bind.Describe: field %s of %v is no scalar", path, t))
	}
	return func(payload any) string { return text(reflect.ValueOf(payload).Elem().FieldByIndex(index)) }
}

// Key returns the text of a scalar, by which handlers wait for events whose field has that value: for generated
// code. It panics if value is no scalar.
func Key(value any) string {
	t := reflect.TypeOf(value)
	text := textOf(t)
	if text == nil {
		panic(fmt.Sprintf("bind.Key: %v is no scalar", t))
	}
	v := reflect.New(t).Elem() // the bytes of an array have to be in a place of their own
	v.Set(reflect.ValueOf(value))
	return text(v)
}

// textOf returns a function that writes a scalar of a type as a text; nil for another type.
func textOf(t reflect.Type) func(reflect.Value) string {
	if isGoType(t) {
		return marshalled
	}
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

// isGoType reports whether t may be one of go_types, or a named scalar made of one, whose text is not that of its kind.
func isGoType(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String:
		if t.Implements(reflect.TypeFor[interface{ Valid() bool }]()) {
			return false // an enum, whose text is its value also if that is unknown
		}
	case reflect.Array:
		if writesUUID(t) {
			return false // textOf needs less memory
		}
	case reflect.Struct, reflect.Slice, reflect.Map:
	default:
		return false
	}
	return t.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}

// marshalled returns the text of a value with the method MarshalText. It panics if that returns an error, as if it had
// panicked itself.
func marshalled(v reflect.Value) string {
	text, err := v.Interface().(encoding.TextMarshaler).MarshalText()
	if err != nil {
		panic(fmt.Errorf("the method MarshalText of %v: %w", v.Type(), err))
	}
	return string(text)
}

// writesUUID reports whether the text of an array is that of a UUID with the same bytes.
func writesUUID(t reflect.Type) bool {
	if !t.ConvertibleTo(reflect.TypeFor[uuid.UUID]()) {
		return false
	}
	id := uuid.UUID{0: 1, 3: 2, 5: 3, 7: 4, 15: 5}
	m, ok := reflect.ValueOf(id).Convert(t).Interface().(encoding.TextMarshaler)
	if !ok {
		return true
	}
	text, err := m.MarshalText()
	return err == nil && string(text) == id.String()
}
