package checks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/busgen/busgen/runtime/gen/deep"
)

// Custom checks a value of a type that is not generated. It calls the method Validate,
// if there is one. Then it encodes the value as JSON and decodes it again. A value that
// changes on the way is invalid, because handlers would get another value.
func Custom[T any](value T) error {
	var back T
	return custom(&value, &back, nil, func() bool { return deep.EqualCustom(value, back) })
}

// CustomAs is Custom for a type whose JSON the catalogue calls that of a built-in type, or of a list or map of one. B is
// the usual Go type of that; a pointer, if the value may be null. Programs in other languages, and those with another Go
// type, rely on it.
func CustomAs[B, T any](value T) error {
	var back T
	return custom(&value, &back, new(B), func() bool { return deep.EqualCustom(value, back) })
}

// custom is Custom for what value points to; back points to a zero value, for what decoding gives, and equal compares
// both. usual points to one of the usual Go type; it is nil for any JSON.
//
//go:noinline
func custom(value, back, usual any, equal func() bool) error {
	if v, ok := value.(interface{ Validate() error }); ok {
		if err := v.Validate(); err != nil {
			return err
		}
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("cannot be stored: %w", err)
	}
	if usual != nil {
		if err := hasForm(encoded, reflect.ValueOf(usual).Elem()); err != nil {
			return fmt.Errorf("cannot be stored: its JSON is %.100s, and %w; change the type, or what the catalogue says of it", encoded, err)
		}
	}
	if err := json.Unmarshal(encoded, back); err != nil {
		return fmt.Errorf("cannot be stored: its JSON %.100s cannot be read back: %w", encoded, err)
	}
	if equal() {
		return nil
	}
	if field := deep.LeftOut(value); field != "" {
		return fmt.Errorf("cannot be stored: its JSON leaves out %s, which is not exported; give the type methods MarshalJSON and UnmarshalJSON", field)
	}
	again, err := json.Marshal(back)
	if err != nil {
		return fmt.Errorf("cannot be stored: decoding its JSON %.100s gives a value without a JSON form: %w", encoded, err)
	}
	if bytes.Equal(encoded, again) {
		return fmt.Errorf("cannot be stored: decoding its JSON %.100s gives another value, according to its method Equal", encoded)
	}
	return fmt.Errorf("cannot be stored: decoding its JSON %.100s gives %.100s", encoded, again)
}

// hasForm decodes JSON into a value of the usual Go type, and checks it. A list or map that is nil may be null.
func hasForm(encoded []byte, usual reflect.Value) error {
	name := usual.Type().String()
	if usual.Kind() == reflect.Pointer {
		name = usual.Type().Elem().String()
	}
	switch usual.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
	default:
		if string(encoded) == "null" {
			return errors.New("the catalogue says that it is that of " + name)
		}
	}
	err := json.Unmarshal(encoded, usual.Addr().Interface())
	if err == nil {
		err = validEach(usual)
	}
	if err != nil {
		return fmt.Errorf("the catalogue says that it is that of %s: %w", name, err)
	}
	return nil
}

// validEach calls the methods Validate of a value and of what is in it: of dates and decimals.
func validEach(v reflect.Value) error {
	if v, ok := v.Interface().(interface{ Validate() error }); ok {
		return v.Validate()
	}
	switch {
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() != reflect.Uint8:
		for i := range v.Len() {
			if err := validEach(v.Index(i)); err != nil {
				return err
			}
		}
	case v.Kind() == reflect.Map:
		for entries := v.MapRange(); entries.Next(); {
			if err := validEach(entries.Value()); err != nil {
				return err
			}
		}
	case v.Kind() == reflect.Pointer && !v.IsNil():
		return validEach(v.Elem())
	}
	return nil
}
