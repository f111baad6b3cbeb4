package checks

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/busgen/busgen/runtime/gen/deep"
)

// Custom checks a value of a type that is not generated. It calls the method Validate,
// if there is one. Then it encodes the value as JSON and decodes it again. A value that
// changes on the way is invalid, because handlers would get another value.
func Custom[T any](value T) error {
	var back T
	return custom(&value, &back, func() bool { return deep.EqualCustom(value, back) })
}

// custom is Custom for what value points to; back points to a zero value, for what decoding gives, and equal compares both.
//
//go:noinline
func custom(value, back any, equal func() bool) error {
	if v, ok := value.(interface{ Validate() error }); ok {
		if err := v.Validate(); err != nil {
			return err
		}
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("cannot be stored: %w", err)
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
